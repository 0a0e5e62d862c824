package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// TestParse checks that what cannot be released is refused with the name of the flag.
func TestParse(t *testing.T) {
	t.Parallel()
	right := map[string]string{"version": "v0.1.0", "registry": "registry.example.com/shopfleet/", "platforms": allPlatforms, "output": "out"}
	for _, c := range []struct{ flag, value, says string }{
		{"version", "v0.1.0", ""},
		{"version", "v1.0.0-rc.1", ""},
		{"platforms", "linux/amd64", ""},
		{"version", "0.1.0", "--version"},
		{"version", "v0.1", "--version"},
		{"version", "v0.1.0+build", "--version"},
		{"registry", "", "--registry"},
		{"registry", "https://registry.example.com", "--registry"},
		{"platforms", "linux/riscv64", "--platforms"},
		{"platforms", "linux", "--platforms"},
		{"platforms", "", "--platforms"},
		{"output", "", "--output"},
	} {
		var args []string
		for flag, value := range right {
			if flag == c.flag {
				value = c.value
			}
			args = append(args, "--"+flag+"="+value)
		}
		r, err := parse(args)
		switch {
		case c.says == "" && (err != nil || r.registry != "registry.example.com/shopfleet"):
			t.Errorf("--%s=%s: %+v, %v", c.flag, c.value, r, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("--%s=%s: %v, want an error about %s", c.flag, c.value, err, c.says)
		}
	}
}

// TestVersionOfPages checks that a release has the version that its pages name. It is not parallel: build changes the folder.
func TestVersionOfPages(t *testing.T) {
	t.Chdir(".") // Returns to this folder.
	output := filepath.Join(t.TempDir(), "release")
	err := build(t.Context(), []string{"--version=v0.0.1", "--registry=registry.example.com", "--output=" + output})
	if err == nil || !strings.Contains(err.Error(), "--version v0.0.1: config.Release in config/install.go is v") {
		t.Errorf("building v0.0.1: %v, want an error with both versions and the file", err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("config", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		constant, version string
		refused           bool
	}{
		{"\tRelease = \"v0.1.0\"\n", "v0.1.0", false},
		{"\tRelease = \"v0.1.0\"\n", "v0.1.0-check", false},
		{"\tRelease = \"v0.1.0\"\n", "v0.1.1", true},
		{"", "v0.0.9", false},
	} {
		if err := os.WriteFile("config/install.go", []byte("package config\n\nconst (\n"+c.constant+")\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (release{version: c.version}).checkVersion(); (err != nil) != c.refused {
			t.Errorf("%s where pages have %q: %v", c.version, c.constant, err)
		}
	}
}

// TestIndexNamesPlatforms checks that a node finds the image of its processor, whichever is the first.
func TestIndexNamesPlatforms(t *testing.T) {
	t.Parallel()
	r := release{version: "v0.1.0", output: t.TempDir(), platforms: []platform{{"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}}}
	for _, p := range r.platforms {
		for _, process := range processes() {
			path := r.program(process, p)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(p.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.writeImages(); err != nil {
		t.Fatal(err)
	}
	for _, process := range processes() {
		index, err := layout.ImageIndexFromPath(r.layout("shopfleet-" + process))
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, entry := range manifest.Manifests {
			got = append(got, entry.Platform.String())
		}
		if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(got, want) {
			t.Errorf("the index of %s names %q, want %q", process, got, want)
		}
	}
}
