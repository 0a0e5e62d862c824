package binaries

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// Releases names the servers that released programs are downloaded from.
type Releases struct {
	// Kubernetes, GitHub and GitHubAPI are the addresses of servers with the paths of
	// dl.k8s.io, github.com and api.github.com.
	Kubernetes, GitHub, GitHubAPI string
	// Patience is how long a server may be silent, before and during its response.
	Patience time.Duration
}

// PublicReleases returns the servers of the projects.
func PublicReleases() *Releases {
	return &Releases{
		Kubernetes: "https://dl.k8s.io", GitHub: "https://github.com", GitHubAPI: "https://api.github.com", Patience: patience,
	}
}

// release says where a released program is.
type release struct {
	file string
	// member is the program's name in an archive; empty means that the file is the
	// program.
	member string
	// checksums is a document in which find finds the checksum of a file.
	checksums string
	find      func(raw []byte, name string) string
}

func (r Releases) release(program string, pins pins) release {
	platform := "linux-" + runtime.GOARCH
	switch program {
	case Etcd:
		version := pins.versions[etcdModule]
		folder := r.GitHub + "/etcd-io/etcd/releases/download/" + version + "/"
		name := "etcd-" + version + "-" + platform
		return release{file: folder + name + ".tar.gz", member: name + "/etcd", checksums: folder + "SHA256SUMS", find: inList}
	case Kwok:
		// The project publishes no file with checksums; GitHub publishes those of all files.
		const project = "/kubernetes-sigs/kwok/releases/"
		version := pins.versions[kwokModule]
		return release{
			file:      r.GitHub + project + "download/" + version + "/kwok-" + platform,
			checksums: r.GitHubAPI + "/repos" + project + "tags/" + version, find: inAssets,
		}
	default:
		file := r.Kubernetes + "/release/" + pins.versions[kubernetesModule] + "/bin/linux/" + runtime.GOARCH + "/" + program
		return release{file: file, checksums: file + ".sha256", find: inList}
	}
}

// inList finds a checksum in the output of sha256sum, or in a file with nothing else.
func inList(raw []byte, name string) string {
	for line := range strings.Lines(string(raw)) {
		switch fields := strings.Fields(line); {
		case len(fields) == 1, len(fields) == 2 && strings.TrimPrefix(fields[1], "*") == name:
			return fields[0]
		}
	}
	return ""
}

// inAssets finds a checksum in GitHub's description of a release.
func inAssets(raw []byte, name string) string {
	var description struct {
		Assets []struct{ Name, Digest string }
	}
	if err := json.Unmarshal(raw, &description); err != nil {
		return ""
	}
	for _, asset := range description.Assets {
		if asset.Name == name {
			return strings.TrimPrefix(asset.Digest, "sha256:")
		}
	}
	return ""
}

// extract writes one file of a compressed archive.
func extract(archive, member, name string) error {
	file, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("opening an archive: %w", err)
	}
	defer func() { _ = file.Close() }()
	uncompressed, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("reading %q: %w", archive, err)
	}
	files := tar.NewReader(uncompressed)
	for {
		header, err := files.Next()
		if err != nil {
			return fmt.Errorf("finding %s in %q: %w", member, archive, err)
		}
		if header.Name != member {
			continue
		}
		out, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("creating %q: %w", name, err)
		}
		_, err = io.CopyN(out, files, header.Size)
		if err = errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("extracting %s: %w", member, err)
		}
		return nil
	}
}
