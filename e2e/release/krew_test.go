package main

import (
	"archive/zip"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// krewPlugin has the fields of a manifest that krew knows; others are an error. It stands for package index of krew, whose module
// replaces client-go by a version of 2019.
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       struct {
		Version          string         `json:"version"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Caveats          string         `json:"caveats"`
		Homepage         string         `json:"homepage"`
		Platforms        []krewPlatform `json:"platforms"`
	} `json:"spec"`
}

type krewPlatform struct {
	URI      string `json:"uri"`
	Sha256   string `json:"sha256"`
	Bin      string `json:"bin"`
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
}

// TestKrew writes the archives of all platforms and the manifest for krew. It is not parallel: the licence is read from the repository.
func TestKrew(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	r := release{version: "v0.1.0", output: t.TempDir()}
	for name := range strings.SplitSeq(allPlatforms, ",") {
		system, processor, _ := strings.Cut(name, "/")
		p := platform{system, processor}
		r.platforms = append(r.platforms, p)
		program := r.program(plugin, p)
		if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.writeArchives(); err != nil {
		t.Fatal(err)
	}
	if err := r.writeKrew(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(r.output, "shopfleet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest krewPlugin
	if err := yaml.UnmarshalStrict(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	checkKrew(t, manifest)
	for i, want := range []struct{ archive, program string }{
		{"kubectl-shopfleet_v0.1.0_linux_amd64.tar.gz", "kubectl-shopfleet"},
		{"kubectl-shopfleet_v0.1.0_linux_arm64.tar.gz", "kubectl-shopfleet"},
		{"kubectl-shopfleet_v0.1.0_darwin_amd64.tar.gz", "kubectl-shopfleet"},
		{"kubectl-shopfleet_v0.1.0_darwin_arm64.tar.gz", "kubectl-shopfleet"},
		{"kubectl-shopfleet_v0.1.0_windows_amd64.zip", "kubectl-shopfleet.exe"},
		{"kubectl-shopfleet_v0.1.0_windows_arm64.zip", "kubectl-shopfleet.exe"},
	} {
		p := r.platforms[i]
		sum, err := r.sum(want.archive)
		if err != nil {
			t.Fatal(err)
		}
		described := krewPlatform{URI: "https://github.com/shopfleet/shopfleet/releases/download/v0.1.0/" + want.archive, Sha256: sum, Bin: want.program}
		described.Selector.MatchLabels = map[string]string{"os": p.system, "arch": p.processor}
		if diff := cmp.Diff(described, manifest.Spec.Platforms[i]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p, diff)
		}
		checkArchive(t, r, want.archive, map[string]string{want.program: p.String(), "LICENSE": ""})
	}
}

// checkKrew checks what krew refuses in a manifest, by internal/index/validation and the naming guide of krew.
func checkKrew(t *testing.T, m krewPlugin) {
	t.Helper()
	for what, fails := range map[string]bool{
		"apiVersion and kind": m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin",
		"name":                len(m.Metadata) != 1 || !regexp.MustCompile(`^[a-z-]+$`).MatchString(m.Metadata["name"]) || m.Metadata["name"] != strings.TrimPrefix(plugin, "kubectl-"),
		"shortDescription":    m.Spec.ShortDescription == "" || len(m.Spec.ShortDescription) > 50 || strings.ContainsAny(m.Spec.ShortDescription, "\r\n"),
		"version":             !aVersion.MatchString(m.Spec.Version),
		"homepage":            m.Spec.Homepage != source,
		"platforms":           len(m.Spec.Platforms) != len(strings.Split(allPlatforms, ",")),
	} {
		if fails {
			t.Errorf("krew refuses the %s of %+v", what, m)
		}
	}
	for _, p := range m.Spec.Platforms {
		keys := slices.Sorted(maps.Keys(p.Selector.MatchLabels))
		if p.URI == "" || p.Bin == "" || !regexp.MustCompile(`^[a-f0-9]{64}$`).MatchString(p.Sha256) || !slices.Equal(keys, []string{"arch", "os"}) {
			t.Errorf("krew refuses the platform %+v", p)
		}
	}
}

// checkArchive checks the files of an archive by name; an empty content is any. Programs are executable.
func checkArchive(t *testing.T, r release, archive string, want map[string]string) {
	t.Helper()
	folder := t.TempDir()
	if strings.HasSuffix(archive, ".zip") {
		unzip(t, filepath.Join(r.output, archive), folder)
	} else {
		made{folder: r.output}.unpack(t, archive, folder)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != len(want) {
		t.Errorf("%s has %v, %v", archive, entries, err)
	}
	for name, content := range want {
		raw, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || len(raw) == 0 {
			t.Errorf("%s has %d characters as %s, %v", archive, len(raw), name, err)
		}
		if content == "" {
			continue
		}
		about, err := os.Stat(filepath.Join(folder, name))
		if err != nil || string(raw) != content || about.Mode().Perm() != 0o755 {
			t.Errorf("%s has %q as %s, which is %v, %v", archive, raw, name, about, err)
		}
	}
}

// unzip writes the files of an archive into a folder, with their modes.
func unzip(t *testing.T, archive, folder string) {
	t.Helper()
	files, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	for _, f := range files.File {
		content, err := files.Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(f.Name)), raw, f.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
}
