package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	// olmPackage is the name by which the Operator Lifecycle Manager (OLM) knows the hub, and olmChannel that of its versions: candidate
	// until the API is stable.
	olmPackage, olmChannel = "shopfleet", "candidate"
	// Images that OLM pulls: the bundle is installed, and the catalogue names it.
	olmBundle, olmCatalog = "shopfleet-olm-bundle", "shopfleet-olm-catalog"
	// policiesFile has the namespace and the admission policies of the hub, which a bundle cannot hold.
	policiesFile = "install-hub-policies.yaml"
)

// olmAnnotations returns what the metadata of a bundle and the labels of its image say.
func olmAnnotations() map[string]string {
	const prefix = "operators.operatorframework.io.bundle."
	return map[string]string{
		prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/",
		prefix + "package.v1": olmPackage, prefix + "channels.v1": olmChannel, prefix + "channel.default.v1": olmChannel,
	}
}

// olmArchive returns the name of the archive of bundle and catalogue.
func (r release) olmArchive() string { return "shopfleet-olm_" + r.version + ".tar.gz" }

// writeOLM writes a bundle of the hub's manifests, the policies that it cannot hold, and a catalogue with the bundle: an archive of both and
// an image of each. Without opm there is no catalogue.
func (r release) writeOLM(ctx context.Context) error {
	raw, err := os.ReadFile(filepath.Join(r.output, "install-hub.yaml"))
	if err != nil {
		return err
	}
	parts, err := sortForOLM(string(raw))
	if err != nil {
		return err
	}
	files, err := r.bundleFiles(parts)
	if err != nil {
		return err
	}
	policies, err := documents(parts.beside)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.output, policiesFile), policies, 0o644); err != nil {
		return err
	}
	if err := r.writeFilesImage(olmBundle, files, olmAnnotations()); err != nil {
		return err
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	archived := append([]member{{name: "LICENSE", content: licence, mode: 0o644}}, under("bundle/", files)...)
	if r.opm == "" {
		fmt.Println("NO CATALOGUE for OLM: no --opm was given")
	} else {
		catalog, err := r.renderCatalog(ctx, files)
		if err != nil {
			return err
		}
		files := []member{{name: olmPackage + "/catalog.yaml", content: catalog, mode: 0o644}}
		labels := map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}
		if err := r.writeFilesImage(olmCatalog, under("configs/", files), labels); err != nil {
			return err
		}
		archived = append(archived, under("catalog/", files)...)
	}
	return r.tar(filepath.Join(r.output, r.olmArchive()), archived)
}

// under returns files in a folder, whose name ends with a slash.
func under(folder string, files []member) []member {
	files = slices.Clone(files)
	for i := range files {
		files[i].name = folder + files[i].name
	}
	return files
}

// writeFilesImage writes an OCI layout with the same files for each platform of Linux: OLM pulls them through nodes.
func (r release) writeFilesImage(name string, files []member, labels map[string]string) error {
	return r.writeIndex(name, func(p platform) (v1.Image, error) {
		return r.imageOf(files, p, v1.Config{Labels: labels})
	})
}

// renderCatalog returns a catalogue with the bundle, which opm renders and validates.
func (r release) renderCatalog(ctx context.Context, bundle []member) ([]byte, error) {
	folder, err := os.MkdirTemp("", "shopfleet-olm-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	catalog := filepath.Join(folder, "catalog")
	if err := os.Mkdir(catalog, 0o755); err != nil {
		return nil, err
	}
	for _, file := range bundle {
		path := filepath.Join(folder, "bundle", file.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, file.content, 0o644); err != nil {
			return nil, err
		}
	}
	// The metadata of the ClusterServiceVersion replaces copies of all objects of the bundle, the definitions among them.
	cmd := exec.CommandContext(ctx, r.opm, "render", filepath.Join(folder, "bundle"), "--output", "yaml", "--migrate-level=bundle-object-to-csv-metadata",
		"--alpha-image-ref-template", r.registry+"/"+olmBundle+":"+r.version)
	cmd.Stderr = os.Stderr
	rendered, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("rendering the catalogue: %w", err)
	}
	head, err := documents([]object{
		{"schema": "olm.package", "name": olmPackage, "defaultChannel": olmChannel, "description": summary},
		{"schema": "olm.channel", "package": olmPackage, "name": olmChannel, "entries": []any{r.channelEntry()}},
	})
	if err != nil {
		return nil, err
	}
	content := slices.Concat(head, rendered)
	if err := os.WriteFile(filepath.Join(catalog, "catalog.yaml"), content, 0o644); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, r.opm, "validate", catalog).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("validating the catalogue: %w: %s", err, out)
	}
	return content, nil
}

// channelEntry returns the version of a catalogue in its channel. A catalogue has no other one: the tag of its image chooses the minor
// version, for which a channel of each would be a second place.
func (r release) channelEntry() object {
	entry := object{"name": r.bundleName()}
	if versions := r.upgradesFrom(); versions != "" {
		entry["skipRange"] = versions
	}
	return entry
}

// upgradesFrom returns the range of the versions that are upgraded to this one: its own minor version and the one before, because
// agents and plugins may be one apart, and none of another major version. It is empty for a version that none may precede.
func (r release) upgradesFrom() string {
	parts := aVersion.FindStringSubmatch(r.version)
	minor, _ := strconv.Atoi(parts[2]) // Digits, as aVersion has them.
	oldest := fmt.Sprintf("%s.%d.0", parts[1], max(minor-1, 0))
	if oldest == "0.0.0" {
		oldest = "0.1.0" // The first release.
	}
	if strings.Join(parts[1:4], ".") == oldest {
		return ""
	}
	return ">=" + oldest + " <" + strings.TrimPrefix(r.version, "v")
}
