package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testKustomize builds the kustomizations of the archive: they have the objects of the manifests. An overlay of each sorts
// them in the same way.
func (m made) testKustomize(t *testing.T) {
	folder := t.TempDir()
	m.unpack(t, "shopfleet-kustomize_"+version+".tar.gz", folder)
	build := func(resource string) string {
		overlay := filepath.Join(folder, filepath.Base(resource)+"-overlay")
		if err := os.Mkdir(overlay, 0o755); err != nil {
			t.Fatal(err)
		}
		text := "resources: [" + resource + "]\nsortOptions: {order: legacy}\n"
		if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), m.kustomize, "build", "--load-restrictor=LoadRestrictionsNone", overlay)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("building %s: %v", resource, err)
		}
		return string(out)
	}
	for _, process := range processes() {
		plain := "install-" + process + ".yaml"
		raw, err := os.ReadFile(filepath.Join(m.folder, plain))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, plain), raw, 0o644); err != nil {
			t.Fatal(err)
		}
		want := build("../" + plain)
		if objects := strings.Count(want, "\nkind: "); objects < 15 {
			t.Errorf("%s has %d objects, want a whole installation", plain, objects)
		}
		if diff := cmp.Diff(want, build("../config/"+process)); diff != "" {
			t.Errorf("the %s (-manifests +kustomize):\n%s", process, diff)
		}
	}
	if alerts := build("../config/monitoring"); !strings.Contains(alerts, "/blob/"+version+"/hub/RUNBOOK.md#") || strings.Contains(alerts, "/blob/main/") {
		t.Errorf("the alerts do not link to the runbook of %s", version)
	}
}

// unpack writes the files of an archive of the release into a folder.
func (m made) unpack(t *testing.T, archive, folder string) {
	t.Helper()
	raw, err := os.Open(filepath.Join(m.folder, archive))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	unpacked, err := gzip.NewReader(raw)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	files := tar.NewReader(unpacked)
	for header, err := files.Next(); err != io.EOF; header, err = files.Next() {
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := root.WriteFile(header.Name, content, os.FileMode(header.Mode)); err != nil {
			t.Fatal(err)
		}
	}
}
