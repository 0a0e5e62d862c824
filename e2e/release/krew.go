package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// krewManifest is the manifest of a plugin as krew reads it.
const krewManifest = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: shopfleet
spec:
  version: {{.Version}}
  homepage: {{.Source}}
  shortDescription: Run one shop in many clusters
  description: |
    Installs Shopfleet, joins clusters to a hub, shows where each shop runs and
    why, rolls out, drains, makes backups and restores them.
  caveats: |
    The hub has to be installed first: kubectl shopfleet install hub
  platforms:
{{- range .Archives}}
  - selector:
      matchLabels:
        os: {{.System}}
        arch: {{.Processor}}
    uri: {{$.Source}}/releases/download/{{$.Version}}/{{.Name}}
    sha256: {{.Sum}}
    bin: {{.Program}}
{{- end}}
`

// writeKrew writes the manifest for krew, with the checksums of the archives.
func (r release) writeKrew() error {
	type archive struct{ System, Processor, Name, Sum, Program string }
	var archives []archive
	for _, p := range r.platforms {
		sum, err := r.sum(r.archive(p))
		if err != nil {
			return err
		}
		archives = append(archives, archive{p.system, p.processor, r.archive(p), sum, filepath.Base(r.program(plugin, p))})
	}
	manifest, err := template.New("krew").Parse(krewManifest)
	if err != nil {
		return err
	}
	var b strings.Builder
	err = manifest.Execute(&b, struct {
		Version, Source string
		Archives        []archive
	}{r.version, source, archives})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.output, "shopfleet.yaml"), []byte(b.String()), 0o644)
}

// writeNotes writes the section of the changelog about the version, or about what is not released yet if there is none.
func (r release) writeNotes() error {
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	notes, err := section(string(changelog), strings.TrimPrefix(r.version, "v"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.output, "notes.md"), []byte(notes), 0o644)
}

// section returns the text of a version in a changelog, or that of Unreleased.
func section(changelog, version string) (string, error) {
	for _, title := range []string{version, "Unreleased"} {
		_, text, found := strings.Cut(changelog, "\n## ["+title+"]")
		if !found {
			continue
		}
		_, text, _ = strings.Cut(text, "\n") // The line ends with the date.
		text, _, _ = strings.Cut(text, "\n## ")
		return strings.TrimSpace(text) + "\n", nil
	}
	return "", fmt.Errorf("reading the changelog: %w", errNoSection)
}

var errNoSection = errors.New("it has a section neither for the version nor for what is not released")
