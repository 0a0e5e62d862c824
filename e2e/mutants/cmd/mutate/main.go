package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/shopfleet/shopfleet/e2e/mutants"
)

// wrapper is the go that gremlins calls: with 2 it ends for a mutant that does not compile, and the profile of
// the coverage says that tests run all lines of the files that it names, or the sites of a sample alone.
const wrapper = `#!/bin/sh
set -f
[ "$1" != test ] || test_flags=$TEST_FLAGS
out=$("$REAL_GO" "$@" $test_flags 2>&1)
code=$?
printf '%s\n' "$out"
case $out in *'[build failed]'*) exit 2 ;; esac
while [ $# -gt 1 ]; do
  if [ "$1" = -coverprofile ]; then
    awk -F: -v sites="$SITES" '
      NR == 1 { print; while (sites && (getline site <sites) > 0) print site; next }
      !sites && !seen[$1]++ { print $1 ":1.1,1000000.1 1 1" }' "$2" >"$2.all" && mv "$2.all" "$2"
  fi
  shift
done
exit $code
`

var errNoPackage = errors.New("no package to mutate")

func main() {
	var r runner
	flag.StringVar(&r.gremlins, "gremlins", "gremlins", "program to mutate with")
	flag.StringVar(&r.testFlags, "test-flags", "", "more flags of go test, such as -skip=TestRandom")
	flag.IntVar(&r.sample, "sample", 0, "number of sites to change in each package, 0 for all")
	flag.Uint64Var(&r.seed, "seed", 1, "seed of the sample")
	mark := flag.Float64("mark", 0, "least percentage of changes that tests must notice")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := r.run(ctx, *mark, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		cancel()
		os.Exit(1) //nolint:gocritic // The deferred call was made.
	}
}

// run mutates the packages, and fails if less than the mark was noticed of all changes together.
func (r runner) run(ctx context.Context, mark float64, patterns []string) error {
	packages, err := list(ctx, patterns)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r.module, r.bin, r.report = filepath.Join(dir, "module"), filepath.Join(dir, "bin"), filepath.Join(dir, "report.json")
	if err := r.prepare(ctx); err != nil {
		return err
	}
	var all mutants.Report
	for _, pkg := range packages {
		report, err := r.mutate(ctx, pkg)
		if err != nil {
			return fmt.Errorf("mutating %s: %w", pkg, err)
		}
		for _, survivor := range report.Survivors() {
			fmt.Printf("%s/%s\n", pkg, survivor)
		}
		fmt.Printf("%s: %s\n", pkg, report)
		all.Files = append(all.Files, report.Files...)
	}
	return all.Check(mark)
}

// list returns the folders of the packages that the patterns name, relative to the module. It fails for a
// pattern that names none.
func list(ctx context.Context, patterns []string) ([]string, error) {
	var folders []string
	for _, pattern := range patterns {
		out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Module.Dir}}\t{{.Dir}}", pattern).Output()
		if err != nil || len(out) == 0 {
			return nil, fmt.Errorf("%w: no package is %s", errNoPackage, pattern)
		}
		for line := range strings.Lines(string(out)) {
			module, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
			relative, err := filepath.Rel(module, folder)
			if err != nil {
				return nil, fmt.Errorf("finding the folder of %s: %w", pattern, err)
			}
			folders = append(folders, relative)
		}
	}
	if len(folders) == 0 {
		return nil, errNoPackage
	}
	return folders, nil
}

// runner mutates packages in a copy of the module.
type runner struct {
	gremlins, testFlags string
	sample              int
	seed                uint64
	module, bin, report string
}

// prepare copies the files that belong to the repository, and writes the wrapper. Gremlins copies the folder for
// each of its workers, with all tools and results that are in it.
func (r runner) prepare(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("listing files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // Deleted, and not committed.
		}
		if err == nil {
			err = write(filepath.Join(r.module, name), content, 0o600)
		}
		if err != nil {
			return fmt.Errorf("copying the module: %w", err)
		}
	}
	return write(filepath.Join(r.bin, "go"), []byte(wrapper), 0o700)
}

func write(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		return fmt.Errorf("writing a file: %w", err)
	}
	return nil
}

// mutate mutates the package in a folder of the module: all of its sites, or a sample of them.
func (r runner) mutate(ctx context.Context, pkg string) (mutants.Report, error) {
	if r.sample == 0 {
		return r.unleash(ctx, pkg, "")
	}
	all, err := r.unleash(ctx, pkg, "", "--dry-run", "--silent")
	if err != nil {
		return mutants.Report{}, err
	}
	module, err := exec.CommandContext(ctx, "go", "list", "-m").Output()
	if err != nil {
		return mutants.Report{}, fmt.Errorf("reading the name of the module: %w", err)
	}
	var profile strings.Builder
	sample := all.Sample(r.sample, r.seed)
	for _, site := range sample {
		fmt.Fprintf(&profile, "%s/%s/%s:%d.%d,%d.%d 1 1\n", strings.TrimSpace(string(module)), pkg, site.File, site.Line, site.Column, site.Line, site.Column)
	}
	sites := filepath.Join(r.bin, "sites")
	if err := write(sites, []byte(profile.String()), 0o600); err != nil {
		return mutants.Report{}, err
	}
	report, err := r.unleash(ctx, pkg, sites, "--output-statuses", "klt")
	return report.Only(sample), err
}

// unleash lets gremlins change the sites in a file, or all if there is no file, and shows its progress.
func (r runner) unleash(ctx context.Context, pkg, sites string, flags ...string) (mutants.Report, error) {
	program, err := exec.LookPath("go")
	if err != nil {
		return mutants.Report{}, fmt.Errorf("finding go: %w", err)
	}
	args := append([]string{"unleash", "--output", r.report,
		"--timeout-coefficient", "20", "--exclude-files", "/", // Folders below have packages of their own.
		"--invert-logical", "--invert-loopctrl", "--invert-assignments"}, flags...)
	cmd := exec.CommandContext(ctx, r.gremlins, append(args, "./"+pkg)...)
	cmd.Dir = r.module
	// A cached result of the tests would be timed as too short, and the debugger's tables take half of the time to link.
	cmd.Env = append(os.Environ(), "REAL_GO="+program, "PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GOFLAGS=-vet=off -count=1 '-ldflags=-s -w'", "TEST_FLAGS="+r.testFlags, "SITES="+sites)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return mutants.Report{}, fmt.Errorf("running gremlins: %w", err)
	}
	file, err := os.Open(r.report)
	if err != nil {
		return mutants.Report{}, fmt.Errorf("opening the report: %w", err)
	}
	defer func() { _ = file.Close() }()
	report, err := mutants.ReadReport(file)
	return report, errors.Join(err, os.Remove(r.report))
}
