package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// developmentVersion is the tag of the images in the manifests of config.
const developmentVersion = "v0.0.0-dev"

// kustomizations are the folders of config that kustomize builds.
func kustomizations() []string {
	return []string{"admission", "crd", "hub", "manager", "monitoring", "rbac", "spoke"}
}

// kustomizeArchive returns the name of the archive of the kustomizations.
func (r release) kustomizeArchive() string { return "shopfleet-kustomize_" + r.version + ".tar.gz" }

// writeKustomize writes an archive of the kustomizations, whose images are those of the registry, and whose alerts link to
// the runbook of the version.
func (r release) writeKustomize() error {
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	replacements := []string{source + "/blob/main/", source + "/blob/" + r.version + "/"}
	for _, process := range processes() {
		image := "shopfleet-" + process + ":"
		replacements = append(replacements, image+developmentVersion, r.registry+"/"+image+r.version)
	}
	replacer := strings.NewReplacer(replacements...)
	members := []member{{name: "LICENSE", content: licence, mode: 0o644}}
	sources := os.DirFS(".")
	for _, folder := range kustomizations() {
		err := fs.WalkDir(sources, "config/"+folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(sources, path)
			if err != nil {
				return err
			}
			text := replacer.Replace(string(content))
			if strings.Contains(text, developmentVersion) {
				return fmt.Errorf("%s names the version of a development build", path)
			}
			members = append(members, member{name: path, content: []byte(text), mode: 0o644})
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading the kustomizations of %s: %w", folder, err)
		}
	}
	return r.tar(filepath.Join(r.output, r.kustomizeArchive()), members)
}
