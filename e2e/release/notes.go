package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// changelogFile has a section for each version.
const changelogFile = "CHANGELOG.md"

// writeNotes writes the section of the changelog about the version, whose links lead to the sources of that version.
func (r release) writeNotes() error {
	changelog, err := os.ReadFile(changelogFile)
	if err != nil {
		return err
	}
	heading, notes, err := section(string(changelog), strings.TrimPrefix(r.version, "v"))
	if err != nil {
		return err
	}
	if strings.Contains(strings.ToLower(heading), "unreleased") {
		fmt.Printf("NOT DATED: the heading of %s in the changelog is %q\n", r.version, heading)
	}
	return os.WriteFile(filepath.Join(r.output, "notes.md"), []byte(r.withSources(notes, ".")), 0o644)
}

// section returns the heading and the text of a version in a changelog; for a pre-release without a section those of the version
// that it precedes, and else those of Unreleased.
func section(changelog, version string) (heading, text string, err error) {
	core, _, _ := strings.Cut(version, "-")
	for _, title := range []string{version, core, "Unreleased"} {
		_, rest, found := strings.Cut(changelog, "\n## ["+title+"]")
		if !found {
			continue
		}
		end, text, _ := strings.Cut(rest, "\n")
		text, _, _ = strings.Cut(text, "\n## ")
		return "[" + title + "]" + end, strings.TrimSpace(text) + "\n", nil
	}
	return "", "", fmt.Errorf("reading the changelog: %w", errNoSection)
}

var errNoSection = errors.New("it has a section neither for the version nor for what is not released")

// withSources returns a page in a folder of the sources with links to the sources of the version in place of relative ones, which lead to
// nothing outside of the repository.
func (r release) withSources(page, folder string) string {
	relative := regexp.MustCompile(`\]\(([^)\s:#]+)(#[^)\s]*)?\)`)
	return relative.ReplaceAllStringFunc(page, func(link string) string {
		parts := relative.FindStringSubmatch(link)
		return "](" + source + "/blob/" + r.version + "/" + path.Join(folder, parts[1]) + parts[2] + ")"
	})
}
