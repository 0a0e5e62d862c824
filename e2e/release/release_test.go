package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const version = "v0.1.0-check"

// made is a release that is in a registry on this machine.
type made struct {
	folder, registry, helm, kustomize string
	// key is the path of the private key that signed it.
	key string
	// opm is the path of the program that renders the catalogue for OLM, empty if there is none.
	opm string
}

// TestRelease makes the release for this machine, pushes it to a registry, and takes everything from there again.
func TestRelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: the images of this machine's platform are looked into")
	}
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	m := made{folder: filepath.Join(t.TempDir(), "release"), registry: strings.TrimPrefix(server.URL, "http://") + "/shopfleet", helm: tool(t, "helm")}
	m.kustomize = tool(t, "kustomize")
	m.opm = os.Getenv("SHOPFLEET_OPM")
	m.key = filepath.Join(t.TempDir(), "release.key")
	writeKey(t, m.key)
	t.Chdir(".") // Returns to this folder: build goes to that of the repository.
	err := build(t.Context(), []string{
		"--version", version, "--registry", m.registry, "--platforms", "linux/" + runtime.GOARCH, "--output", m.folder, "--helm", m.helm,
		"--cyclonedx-gomod", tool(t, "cyclonedx-gomod"), "--key", m.key, "--opm", m.opm,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := push(t.Context(), []string{"--from", m.folder, "--to", m.registry, "--helm", m.helm, "--key", m.key}); err != nil {
		t.Fatal(err)
	}
	t.Run("images", m.testImages)
	t.Run("charts", m.testCharts)
	t.Run("plugin", m.testPlugin)
	t.Run("manifests", m.testManifests)
	t.Run("kustomize", m.testKustomize)
	t.Run("OLM", m.testOLM)
	t.Run("modules", m.testModules)
	t.Run("checksums", m.testChecksums)
	t.Run("signatures", m.testSignatures)
}

// tool returns the path of a pinned program, which make builds if it is not there. It is for tests that are still in this folder.
func tool(t *testing.T, program string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", "-s", "--no-print-directory", "-C", "../..", program)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// testImages pulls the images, compares each digest with its content, and looks for the program.
func (m made) testImages(t *testing.T) {
	for _, process := range processes() {
		reference, err := name.ParseReference(m.registry + "/shopfleet-" + process + ":" + version)
		if err != nil {
			t.Fatal(err)
		}
		index, err := remote.Index(reference)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", reference, err)
		}
		image, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
		if err != nil {
			t.Fatal(err)
		}
		file, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := file.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/shopfleet"}) || c.Labels["org.opencontainers.image.version"] != version {
			t.Errorf("%s is configured as %+v", reference, c)
		}
		checkProgram(t, image)
	}
}

// checkProgram checks that an image has one file, a static program for this machine's processor.
func checkProgram(t *testing.T, image v1.Image) {
	t.Helper()
	content := mutate.Extract(image)
	defer func() { _ = content.Close() }()
	archive := tar.NewReader(content)
	header, err := archive.Next()
	if err != nil {
		t.Fatal(err)
	}
	program, err := io.ReadAll(archive)
	if err != nil {
		t.Fatal(err)
	}
	if header.Name != "shopfleet" || header.Mode != 0o755 {
		t.Errorf("the image has %s with mode %o", header.Name, header.Mode)
	}
	binary, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if libraries, err := binary.ImportedLibraries(); binary.Machine != machines[runtime.GOARCH] || err != nil || len(libraries) > 0 {
		t.Errorf("the program is for %v and loads %v, %v", binary.Machine, libraries, err)
	}
	if next, err := archive.Next(); err != io.EOF {
		t.Errorf("the image has %+v as well, %v", next, err)
	}
}

// testCharts pulls the charts and renders them: their default images are those of the registry.
func (m made) testCharts(t *testing.T) {
	for _, process := range processes() {
		image := m.registry + "/shopfleet-" + process + ":" + version
		out, err := exec.CommandContext(t.Context(), m.helm, "template", "any", "oci://"+m.registry+"/charts/shopfleet-"+process,
			"--plain-http", "--version", strings.TrimPrefix(version, "v"), "--set", "prometheusRule.enabled=true").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if !strings.Contains(string(out), "image: "+image+"\n") {
			t.Errorf("the chart of %s does not run %s", process, image)
		}
		if want := "/blob/" + version + "/hub/RUNBOOK.md#"; !strings.Contains(string(out), want) || strings.Contains(string(out), "/blob/main/") {
			t.Errorf("the alerts of %s do not link to %s", process, want)
		}
		if want := "--spoke-image=" + m.registry + "/shopfleet-spoke:" + version; process == "hub" && !strings.Contains(string(out), want) {
			t.Errorf("the chart of the hub lacks %s", want)
		}
	}
}

// testPlugin runs the plugin of the archive, which says its version.
func (m made) testPlugin(t *testing.T) {
	archive := "kubectl-shopfleet_" + version + "_linux_" + runtime.GOARCH + ".tar.gz"
	folder, names := t.TempDir(), []string(nil)
	m.unpack(t, archive, folder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if !slices.Equal(names, []string{"LICENSE", plugin}) {
		t.Errorf("%s has %v", archive, names)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(folder, plugin), "version", "--client").CombinedOutput()
	if err != nil || !strings.Contains(string(out), version) {
		t.Errorf("the plugin says %s, %v", out, err)
	}
}

// testManifests checks that the manifests run the images of the registry and no other ones.
func (m made) testManifests(t *testing.T) {
	for _, process := range processes() {
		raw, err := os.ReadFile(filepath.Join(m.folder, "install-"+process+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if want := "image: " + m.registry + "/shopfleet-" + process + ":" + version + "\n"; strings.Count(string(raw), want) != 1 {
			t.Errorf("the manifests of %s lack %s", process, want)
		}
		if strings.Contains(string(raw), "v0.0.0-dev") {
			t.Errorf("the manifests of %s name the version of a development build", process)
		}
	}
}

// testModules checks that each program has a list that names the module of Kubernetes' client.
func (m made) testModules(t *testing.T) {
	for _, program := range append([]string{plugin}, processes()...) {
		raw, err := os.ReadFile(filepath.Join(m.folder, program+"_"+version+"_linux_"+runtime.GOARCH+".cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			BOMFormat  string
			Components []struct{ PURL string }
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatal(err)
		}
		listed := slices.ContainsFunc(document.Components, func(c struct{ PURL string }) bool {
			return strings.HasPrefix(c.PURL, "pkg:golang/k8s.io/client-go@v")
		})
		if document.BOMFormat != "CycloneDX" || !listed {
			t.Errorf("the list of %s is %q and has %d modules, not that of client-go", program, document.BOMFormat, len(document.Components))
		}
	}
}

// testChecksums compares them by sha256sum, and those of the archives with the manifest for krew.
func (m made) testChecksums(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
	cmd.Dir = m.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	sums, err := os.ReadFile(filepath.Join(m.folder, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	krew, err := os.ReadFile(filepath.Join(m.folder, "shopfleet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if strings.HasPrefix(name, plugin) && strings.HasSuffix(name, ".tar.gz") && !strings.Contains(string(krew), "/"+name+"\n    sha256: "+sum+"\n") {
			t.Errorf("the manifest for krew lacks %s of %s:\n%s", sum, name, krew)
		}
	}
}
