package manifests_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/manifests"
)

func names(objects []*unstructured.Unstructured) []string {
	var found []string
	for _, object := range objects {
		found = append(found, object.GetKind()+"/"+object.GetName())
	}
	return found
}

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":         {text: "# only a comment\n---\n"},
		"documents":       {text: "{apiVersion: v1, kind: A, metadata: {name: x}}\n---\n\n---\n{apiVersion: v1, kind: B, metadata: {name: other}}", want: []string{"A/x", "B/other"}},
		"JSON":            {text: `{"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}}`, want: []string{"A/x"}},
		"a list in pairs": {text: "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A, metadata: {name: x}}, {apiVersion: v1, kind: B, metadata: {name: other}}]}", want: []string{"A/x", "B/other"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := manifests.Parse([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, names(objects)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := manifests.Parse([]byte("a: [")); err == nil {
		t.Error("want an error for what is no YAML")
	}
}

func TestLoadReadsAFolder(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"b.yaml":             "{apiVersion: v1, kind: B, metadata: {name: other}}",
		"a/x.yml":            "{apiVersion: v1, kind: A, metadata: {name: x}}",
		"kustomization.yaml": "resources: [b.yaml]",
		"README.md":          "# not a manifest",
	} {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := manifests.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A/x", "B/other"}, names(objects)); diff != "" {
		t.Error(diff)
	}
	if _, err := manifests.Load(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("want an error for a folder that is not there")
	}
}
