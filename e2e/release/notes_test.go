package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSection checks which part of a changelog becomes the notes.
func TestSection(t *testing.T) {
	t.Parallel()
	const first, released = "- new\n", "### Added\n\n- first\n"
	const changelog = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [0.1.0] - 2026-12-01\n\n### Added\n\n- first\n\n## [0.0.9-rc.1]\n\n- tried\n"
	for version, want := range map[string][2]string{
		"0.1.0":       {"[0.1.0] - 2026-12-01", released},
		"0.1.0-check": {"[0.1.0] - 2026-12-01", released},
		"0.0.9-rc.1":  {"[0.0.9-rc.1]", "- tried\n"},
		"0.2.0":       {"[Unreleased]", first},
		"0.1":         {"[Unreleased]", first},
	} {
		if heading, text, err := section(changelog, version); heading != want[0] || text != want[1] || err != nil {
			t.Errorf("%s: %q, %q, %v; want %q", version, heading, text, err, want)
		}
	}
	if _, _, err := section("# Changelog\n", "0.1.0"); !errors.Is(err, errNoSection) {
		t.Errorf("a changelog without a section: %v", err)
	}
}

// TestSectionOfTheRelease checks that the changelog has a section of the version that is released next or was released last.
func TestSectionOfTheRelease(t *testing.T) {
	t.Parallel()
	version, err := constant(filepath.Join("..", "..", versionFile), "Release")
	if err != nil {
		t.Fatal(err)
	}
	changelog, err := os.ReadFile(filepath.Join("..", "..", changelogFile))
	if err != nil {
		t.Fatal(err)
	}
	heading, text, err := section(string(changelog), strings.TrimPrefix(version, "v"))
	if err != nil || !strings.HasPrefix(heading, "["+strings.TrimPrefix(version, "v")+"] - ") || len(text) < 100 {
		t.Errorf("the section of %s is headed %q and has %d characters, %v", version, heading, len(text), err)
	}
}

// TestWithSources checks that the links of pages outside of the repository lead to the sources of the version.
func TestWithSources(t *testing.T) {
	t.Parallel()
	const sources = "(https://github.com/shopfleet/shopfleet/blob/v0.2.0/"
	for _, c := range []struct{ folder, page, want string }{
		{".", "[a](hub/RUNBOOK.md), [b](cloud/README.md#how) and [c](cloud)", "[a]" + sources + "hub/RUNBOOK.md), [b]" + sources + "cloud/README.md#how) and [c]" + sources + "cloud)"},
		{".", "[a](./hub)", "[a]" + sources + "hub)"},
		{"config/charts/a", "[a](../../README.md#install)", "[a]" + sources + "config/README.md#install)"},
		{".", "[site](https://example.com/a), [here](#a), (hub/README)", "[site](https://example.com/a), [here](#a), (hub/README)"},
	} {
		if got := (release{version: "v0.2.0"}).withSources(c.page, c.folder); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.page, c.folder, got, c.want)
		}
	}
}

// TestWriteChart checks what a released chart has that its sources have not: the registry, and links that work outside of them. It is not
// parallel: charts are read from the repository.
func TestWriteChart(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for _, process := range processes() {
		chart, err := release{version: "v0.2.0", registry: "r.example.com/a"}.writeChart(t.TempDir(), "shopfleet-"+process)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"README.md":   "](https://github.com/shopfleet/shopfleet/blob/v0.2.0/config/README.md#install)",
			"values.yaml": "  repository: r.example.com/a/shopfleet-" + process + "\n",
		} {
			content, err := os.ReadFile(filepath.Join(chart, name))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(content), want) || strings.Contains(string(content), "](..") {
				t.Errorf("%s of %s lacks %q", name, process, want)
			}
		}
	}
}
