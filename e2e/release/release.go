package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	module = "github.com/shopfleet/shopfleet"
	source = "https://" + module
	plugin = "kubectl-shopfleet"
)

// release holds what build needs to know.
type release struct {
	// version is that of programs and images, with a v.
	version string
	// registry is the folder of a registry that the images and charts are pushed to, without a slash at its end.
	registry string
	// platforms are those that are built, the plugin for all of them, images for those of Linux.
	platforms []platform
	// output is the folder that is written, absolute.
	output string
	// helm and gomod are paths of programs: helm packages the charts, and cyclonedx-gomod lists the modules of programs.
	helm, gomod string
	// opm is the path of the program that renders and validates the catalogue for OLM; empty leaves the catalogue out.
	opm string
	// key is the path of the private key that signs the checksums; empty leaves them unsigned.
	key string
	// commit and time are of the commit that is built.
	commit string
	time   time.Time
}

// platform is a system and a processor, as Go names them.
type platform struct{ system, processor string }

func (p platform) String() string { return p.system + "/" + p.processor }

// programs are those that are built for the platform: the plugin, and for Linux hub and spoke.
func (p platform) programs() []string {
	if p.system == "linux" {
		return append([]string{plugin}, processes()...)
	}
	return []string{plugin}
}

// allPlatforms are those of a whole release.
const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// aVersion matches what a release may be named: Semantic Versioning with a v, without a build.
var aVersion = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// build makes the artefacts of the repository in which it is run.
func build(ctx context.Context, args []string) error {
	r, err := parse(args)
	if err != nil {
		return err
	}
	root, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("looking for the repository: %w", err)
	}
	if err := os.Chdir(strings.TrimSpace(string(root))); err != nil {
		return err
	}
	if err := r.checkVersion(); err != nil {
		return err
	}
	if err := r.readCommit(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(r.output); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"programs", r.compile},
		{"images", func(context.Context) error { return r.writeImages() }},
		{"lists of modules", r.listModules},
		{"archives of the plugin", func(context.Context) error { return r.writeArchives() }},
		{"charts", r.packageCharts},
		{"manifests", r.writeManifests},
		{"bundle and catalogue for OLM", r.writeOLM},
		{"kustomizations", func(context.Context) error { return r.writeKustomize() }},
		{"manifest for krew", func(context.Context) error { return r.writeKrew() }},
		{"notes", func(context.Context) error { return r.writeNotes() }},
		{"checksums", func(context.Context) error { return r.writeChecksums() }},
		{"signature", func(context.Context) error { return r.signChecksums() }},
	} {
		begin := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("making %s: %w", step.name, err)
		}
		fmt.Printf("%s: %s\n", step.name, time.Since(begin).Round(time.Millisecond))
	}
	fmt.Printf("%s is in %s\n", r.version, r.output)
	return os.RemoveAll(filepath.Join(r.output, "programs"))
}

// parse reads the flags of build.
func parse(args []string) (release, error) {
	r, platforms := release{}, ""
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "Version, such as v0.1.0")
	flags.StringVar(&r.registry, "registry", "", "Folder of a registry that clusters pull from")
	flags.StringVar(&platforms, "platforms", allPlatforms, "Systems and processors, with commas")
	flags.StringVar(&r.output, "output", "", "Folder to write, which is emptied")
	flags.StringVar(&r.helm, "helm", "helm", "Path of helm")
	flags.StringVar(&r.opm, "opm", "", "Path of opm; empty leaves the catalogue for OLM out")
	flags.StringVar(&r.key, "key", "", "Private key to sign the checksums with; empty leaves them unsigned")
	flags.StringVar(&r.gomod, "cyclonedx-gomod", "cyclonedx-gomod", "Path of cyclonedx-gomod")
	if err := flags.Parse(args); err != nil {
		return r, err
	}
	r.registry = strings.TrimSuffix(r.registry, "/")
	switch {
	case !aVersion.MatchString(r.version):
		return r, fmt.Errorf("--version %q: want a version such as v0.1.0", r.version)
	case r.registry == "" || strings.Contains(r.registry, "://"):
		return r, fmt.Errorf("--registry %q: want a folder such as registry.example.com/shopfleet", r.registry)
	case r.output == "":
		return r, errors.New("--output: name the folder to write")
	}
	for name := range strings.SplitSeq(platforms, ",") {
		system, processor, found := strings.Cut(name, "/")
		if !found || !slices.Contains(strings.Split(allPlatforms, ","), name) {
			return r, fmt.Errorf("--platforms: %q is none of %s", name, allPlatforms)
		}
		r.platforms = append(r.platforms, platform{system, processor})
	}
	output, err := filepath.Abs(r.output)
	r.output = output
	return r, err
}

// versionFile has the constant config.Release.
const versionFile = "config/install.go"

// checkVersion refuses another version than config.Release, which the pages and the help of the sources name in their commands. The version of a
// trial is not compared, and neither are sources from before there was the constant.
func (r release) checkVersion() error {
	named, err := constant(versionFile, "Release")
	switch {
	case errors.Is(err, errNoConstant):
		return nil
	case err != nil:
		return err
	case named == r.version, strings.Contains(r.version, "-"):
		return nil
	}
	return fmt.Errorf("--version %s: config.Release in %s is %s, and pages and help name that one: change it there, and run UPDATE_GOLDEN=1 go test -run TestVersions ./e2e/archtest",
		r.version, versionFile, named)
}

var errNoConstant = errors.New("there is no such constant")

// constant returns the value of a constant of package config, of which this module has no part.
func constant(path, name string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`(?m)^(?:const|\t) *` + name + ` += "(.*)"$`).FindSubmatch(raw)
	if found == nil {
		return "", fmt.Errorf("looking for %s in %s: %w", name, path, errNoConstant)
	}
	return string(found[1]), nil
}

// readCommit reads which commit is built, and when it was made: the time of everything in the release. It refuses
// sources that are not those of the commit, unless the version is that of a trial, as v0.1.0-check.
func (r *release) readCommit(ctx context.Context) error {
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output()
	if err != nil {
		return fmt.Errorf("comparing the sources with the commit: %w", err)
	}
	if len(changes) > 0 && !strings.Contains(r.version, "-") {
		return fmt.Errorf("the sources of %s are not those of a commit: commit or remove what git status lists:\n%s", r.version, changes)
	}
	out, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%H %cI").Output()
	if err != nil {
		return fmt.Errorf("reading the commit: %w", err)
	}
	commit, at, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	r.commit = commit
	r.time, err = time.Parse(time.RFC3339, at)
	r.time = r.time.UTC()
	return err
}

// program returns the path of a program that compile makes.
func (r release) program(name string, p platform) string {
	if p.system == "windows" {
		name += ".exe"
	}
	return filepath.Join(r.output, "programs", p.system+"-"+p.processor, name)
}

// compile builds the plugin for each platform, and hub and spoke for Linux.
func (r release) compile(ctx context.Context) error {
	for _, p := range r.platforms {
		for _, name := range p.programs() {
			fmt.Printf("compiling %s for %s\n", name, p)
			ldflags := "-s -w -X main.version=" + r.version
			if name == plugin {
				ldflags += " -X main.registry=" + r.registry
			}
			cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", r.program(name, p), "./cmd/"+name)
			cmd.Env = append(os.Environ(), "GOOS="+p.system, "GOARCH="+p.processor, "CGO_ENABLED=0",
				// What the user of a machine has set is not in the release.
				"GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("compiling %s for %s: %w", name, p, err)
			}
		}
	}
	return nil
}

// listModules writes for each program which modules it is built from, and in which versions: a CycloneDX document.
func (r release) listModules(ctx context.Context) error {
	for _, p := range r.platforms {
		for _, name := range p.programs() {
			document := fmt.Sprintf("%s_%s_%s_%s.cdx.json", name, r.version, p.system, p.processor)
			cmd := exec.CommandContext(ctx, r.gomod, "bin", "-json", "-noserial", "-version", r.version,
				"-output", filepath.Join(r.output, document), r.program(name, p))
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("listing the modules of %s for %s: %w: %s", name, p, err, out)
			}
		}
	}
	return nil
}

// native returns the platform of this machine, whose plugin writes the manifests.
func (r release) native(ctx context.Context) (platform, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOHOSTOS", "GOHOSTARCH").Output()
	if err != nil {
		return platform{}, fmt.Errorf("asking for this machine's platform: %w", err)
	}
	fields := strings.Fields(string(out))
	p := platform{fields[0], fields[1]}
	if _, err := os.Stat(r.program(plugin, p)); err != nil {
		return platform{}, fmt.Errorf("the plugin for %s, which this machine runs, is not among the platforms: %w", p, err)
	}
	return p, nil
}
