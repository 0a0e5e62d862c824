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
// the coverage says that tests run all lines of the files that it names.
const wrapper = `#!/bin/sh
out=$("$REAL_GO" "$@" 2>&1)
code=$?
printf '%s\n' "$out"
case $out in *'[build failed]'*) exit 2 ;; esac
while [ $# -gt 1 ]; do
  if [ "$1" = -coverprofile ]; then
    awk -F: 'NR == 1 { print; next } !seen[$1]++ { print $1 ":1.1,1000000.1 1 1" }' "$2" >"$2.all" && mv "$2.all" "$2"
  fi
  shift
done
exit $code
`

var errNoPackage = errors.New("no package to mutate")

func main() {
	gremlins := flag.String("gremlins", "gremlins", "program to mutate with")
	mark := flag.Float64("mark", 0, "least percentage of changes that tests must notice")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, *gremlins, *mark, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		cancel()
		os.Exit(1) //nolint:gocritic // The deferred call was made.
	}
}

// run mutates the packages, and fails if less than the mark was noticed of all changes together.
func run(ctx context.Context, gremlins string, mark float64, patterns []string) error {
	packages, err := list(ctx, patterns)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := runner{gremlins: gremlins, module: filepath.Join(dir, "module"), bin: filepath.Join(dir, "bin"), report: filepath.Join(dir, "report.json")}
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
type runner struct{ gremlins, module, bin, report string }

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

// mutate mutates the package in a folder of the module.
func (r runner) mutate(ctx context.Context, pkg string) (mutants.Report, error) {
	program, err := exec.LookPath("go")
	if err != nil {
		return mutants.Report{}, fmt.Errorf("finding go: %w", err)
	}
	cmd := exec.CommandContext(ctx, r.gremlins, "unleash", "--silent", "--output", r.report,
		"--timeout-coefficient", "20", "--exclude-files", "/", // Folders below have packages of their own.
		"--invert-logical", "--invert-loopctrl", "--invert-assignments", "./"+pkg)
	cmd.Dir = r.module
	// A cached result of the tests would be timed as too short, and the debugger's tables take half of the time to link.
	cmd.Env = append(os.Environ(), "REAL_GO="+program, "PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GOFLAGS=-vet=off -count=1 '-ldflags=-s -w'")
	if out, err := cmd.CombinedOutput(); err != nil {
		return mutants.Report{}, fmt.Errorf("running gremlins: %w:\n%s", err, out)
	}
	file, err := os.Open(r.report)
	if err != nil {
		return mutants.Report{}, fmt.Errorf("opening the report: %w", err)
	}
	defer func() { _ = file.Close() }()
	report, err := mutants.ReadReport(file)
	return report, errors.Join(err, os.Remove(r.report))
}
