package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// processes are the programs of which there are images: shopfleet-hub and shopfleet-spoke.
func processes() []string { return []string{"hub", "spoke"} }

// writeImages writes an OCI layout for each process.
func (r release) writeImages() error {
	for _, process := range processes() {
		if err := r.writeIndex("shopfleet-"+process, func(p platform) (v1.Image, error) { return r.image(process, p) }); err != nil {
			return err
		}
	}
	return nil
}

// writeIndex writes an OCI layout with an index of one image for each platform of Linux.
func (r release) writeIndex(name string, image func(platform) (v1.Image, error)) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.platforms {
		if p.system != "linux" {
			continue
		}
		made, err := image(p)
		if err != nil {
			return fmt.Errorf("making the image %s for %s: %w", name, p, err)
		}
		// Nodes choose by this entry: without it they take the first image.
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: made, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: p.system, Architecture: p.processor},
		}})
	}
	if _, err := layout.Write(r.layout(name), index); err != nil {
		return fmt.Errorf("writing the images %s: %w", name, err)
	}
	return nil
}

// layout returns the folder of the images of a name.
func (r release) layout(name string) string { return filepath.Join(r.output, "images", name) }

// annotations returns what registries show of the images of a process.
func (r release) annotations(process string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "shopfleet-" + process,
		"org.opencontainers.image.description": "Run one shop in many clusters, regions and clouds",
		"org.opencontainers.image.source":      source,
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
}

// image returns the image of a process: its program and nothing else, run as a user that is a number, so that a cluster
// sees that it is not root's.
func (r release) image(process string, p platform) (v1.Image, error) {
	program, err := os.ReadFile(r.program(process, p))
	if err != nil {
		return nil, err
	}
	files := []member{{name: "shopfleet", content: program, mode: 0o755}}
	return r.imageOf(files, p, v1.Config{Entrypoint: []string{"/shopfleet"}, User: "65532:65532", Labels: r.annotations(process)})
}

// imageOf returns an image that has the files and nothing else.
func (r release) imageOf(files []member, p platform, config v1.Config) (v1.Image, error) {
	content, err := r.archived(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: r.time}, CreatedBy: "COPY . /",
	}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = p.system, p.processor, v1.Time{Time: r.time}, config
	return mutate.ConfigFile(image, file)
}

// archived returns an archive with the files.
func (r release) archived(files []member) ([]byte, error) {
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	for _, f := range files {
		if err := addFile(archive, f.name, f.content, f.mode, r.time); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func addFile(archive *tar.Writer, name string, content []byte, mode int64, at time.Time) error {
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: at, Format: tar.FormatPAX}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}
