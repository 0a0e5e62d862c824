package main

import (
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
