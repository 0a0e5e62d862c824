package binaries

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Releases names the servers that released programs are downloaded from.
type Releases struct {
	// Kubernetes, GitHub and GitHubAPI are the addresses of servers with the paths of
	// dl.k8s.io, github.com and api.github.com.
	Kubernetes, GitHub, GitHubAPI string
	// Platform is the system and the architecture of the programs, as in linux/amd64. Nothing
	// is released for other systems than linux and darwin.
	Platform string
	// Envtest are the SHA-512 checksums of the archives of envtest, by platform.
	Envtest map[string]string
	// MaxSilence bounds the time in which a server sends nothing, before and during its response.
	MaxSilence time.Duration
}

// envtestVersion is the version of envtest's archives: the newest of the pinned minor version. It is not
// released for each patch.
const envtestVersion = "v1.36.2"

// PublicReleases returns the servers of the projects.
func PublicReleases() *Releases {
	return &Releases{
		Kubernetes: "https://dl.k8s.io", GitHub: "https://github.com", GitHubAPI: "https://api.github.com",
		Platform: runtime.GOOS + "/" + runtime.GOARCH, MaxSilence: defaultMaxSilence,
		// From https://github.com/kubernetes-sigs/controller-tools/blob/434758187ddd/envtest-releases.yaml.
		Envtest: map[string]string{
			"darwin/amd64": "b4fe9f973cd1992e3880f8b230ed32c0c243b83371591e3e3315f4404df2cdbef8ee94eeb9bb245b7e5feb987d5c4a76c43e0877654ab73f00d7bbc2b9984514",
			"darwin/arm64": "9278f9e5af556b2f1f2d139769c1f0d717c7b4426917fdebdba898bcb725a916e4910d6160886194ff9be9589ea7c5c32c2b8ae0754703874b7c8ba8ddfc41ce",
		},
	}
}

// release says where released programs are.
type release struct {
	file string
	// programs maps the programs in the file to their names in the archive; an empty name
	// means that the file is the program.
	programs map[string]string
	// sha512 is the checksum of the file. If it is empty, checksums is a document in which find
	// finds the SHA-256 of a file.
	sha512    string
	checksums string
	find      func(raw []byte, name string) string
}

// names returns the programs of the release.
func (r release) names() string {
	return strings.Join(slices.Sorted(maps.Keys(r.programs)), ", ")
}

// of returns the releases of programs, without those that are not released for the platform.
func (r Releases) of(programs []program, pins pins) []release {
	var found []release
	for _, p := range programs {
		one, released := r.release(p.name, pins)
		if !released {
			continue
		}
		if i := slices.IndexFunc(found, func(other release) bool { return other.file == one.file }); i >= 0 {
			maps.Copy(found[i].programs, one.programs)
			continue
		}
		found = append(found, one)
	}
	return found
}

// release returns the release of a program. Kubernetes releases its servers for Linux only; envtest
// has its API server with etcd and kubectl for macOS. The other components are not released for it.
func (r Releases) release(program string, pins pins) (release, bool) {
	system, _, _ := strings.Cut(r.Platform, "/")
	switch {
	case system != "linux" && system != "darwin":
		return release{}, false
	case program == Kwok:
		return r.kwok(pins), true
	case system == "darwin":
		return r.envtest(program)
	case program == Etcd:
		return r.etcd(pins), true
	default:
		file := r.Kubernetes + "/release/" + pins.versions[kubernetesModule] + "/bin/" + r.Platform + "/" + program
		return release{file: file, programs: map[string]string{program: ""}, checksums: file + ".sha256", find: inList}, true
	}
}

func (r Releases) etcd(pins pins) release {
	version := pins.versions[etcdModule]
	folder := r.GitHub + "/etcd-io/etcd/releases/download/" + version + "/"
	name := "etcd-" + version + "-" + r.dashed()
	return release{
		file: folder + name + ".tar.gz", programs: map[string]string{Etcd: name + "/etcd"},
		checksums: folder + "SHA256SUMS", find: inList,
	}
}

// kwok returns the release of KWOK, which has no file with checksums: GitHub publishes those of all files.
func (r Releases) kwok(pins pins) release {
	const project = "/kubernetes-sigs/kwok/releases/"
	version := pins.versions[kwokModule]
	return release{
		file: r.GitHub + project + "download/" + version + "/kwok-" + r.dashed(), programs: map[string]string{Kwok: ""},
		checksums: r.GitHubAPI + "/repos" + project + "tags/" + version, find: inAssets,
	}
}

// envtest returns the archive of envtest for a program that is in it.
func (r Releases) envtest(program string) (release, bool) {
	sum := r.Envtest[r.Platform]
	if sum == "" || !slices.Contains([]string{Etcd, APIServer, Kubectl}, program) {
		return release{}, false
	}
	name := "envtest-" + envtestVersion
	return release{
		file:     r.GitHub + "/kubernetes-sigs/controller-tools/releases/download/" + name + "/" + name + "-" + r.dashed() + ".tar.gz",
		programs: map[string]string{program: "controller-tools/envtest/" + program}, sha512: sum,
	}, true
}

// dashed returns the platform as in the names of files.
func (r Releases) dashed() string { return strings.ReplaceAll(r.Platform, "/", "-") }

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
