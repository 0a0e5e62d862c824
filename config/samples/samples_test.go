package samples

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// document is an object of a sample.
type document struct {
	file   string
	object unstructured.Unstructured
}

// documents returns the objects of all samples.
func documents(t *testing.T) []document {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	var all []document
	for _, file := range files {
		for part := range strings.SplitSeq(read(t, file), "\n---\n") {
			d := document{file: file}
			if err := yaml.UnmarshalStrict([]byte(part), &d.object.Object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, d)
		}
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestEveryKind checks that there is a sample of each kind, of the Secrets that users create, and of the
// account of each cloud.
func TestEveryKind(t *testing.T) {
	var have []string
	for _, d := range documents(t) {
		have = append(have, d.object.GetKind())
		for label := range d.object.GetLabels() {
			have = append(have, d.object.GetKind()+" "+label)
		}
		if provider, _, _ := unstructured.NestedString(d.object.Object, "spec", "provider"); d.object.GetKind() == "CloudAccount" {
			have = append(have, "CloudAccount "+provider)
		}
	}
	want := []string{
		"Secret ecommerce.io/member-cluster", "Secret ecommerce.io/cloud-account",
		"CloudAccount aws", "CloudAccount gcp", "CloudAccount azure",
	}
	definitions, err := filepath.Glob("../crd/bases/*_*.yaml")
	if err != nil || len(definitions) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	for _, path := range definitions {
		var definition unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(read(t, path)), &definition.Object); err != nil {
			t.Fatal(err)
		}
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		want = append(want, kind)
	}
	for _, kind := range want {
		if !slices.Contains(have, kind) {
			t.Errorf("no sample of %s", kind)
		}
	}
}

// TestPage checks that config/README.md links each sample.
func TestPage(t *testing.T) {
	page := read(t, "../README.md")
	for _, d := range documents(t) {
		if !strings.Contains(page, "(samples/"+d.file+")") {
			t.Errorf("config/README.md does not link samples/%s", d.file)
		}
	}
}

// TestImages checks that make shop-push pushes the images of the sample of a shop, and that the programs
// of all images are built for Linux.
func TestImages(t *testing.T) {
	const registry = "registry.example.com/shop"
	cmd := exec.CommandContext(t.Context(), "make", "--dry-run", "--no-print-directory", "-C", "../..", "images", "shop-images", "push", "shop-push", "REGISTRY="+registry)
	cmd.Env = append(os.Environ(), "GOOS=darwin", "MAKEFLAGS=")
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("make --dry-run: %v", err)
	}
	commands := string(output)
	builds := 0
	for line := range strings.SplitSeq(commands, "\n") {
		if strings.Contains(line, "go build") {
			builds++
			if !strings.Contains(line, "GOOS=linux CGO_ENABLED=0") {
				t.Errorf("not for Linux: %s", line)
			}
		}
	}
	if builds != 2 {
		t.Errorf("%d builds, want one of the product and one of the storefront:\n%s", builds, commands)
	}
	for _, d := range documents(t) {
		if d.file != "shop.yaml" {
			continue
		}
		for _, component := range []string{"frontend", "backend"} {
			image, _, _ := unstructured.NestedString(d.object.Object, "spec", component, "image")
			name, found := strings.CutPrefix(image, registry+"/")
			if !found || !strings.Contains(commands, " "+name) {
				t.Errorf("make shop-push does not push the image of %s, %q:\n%s", component, image, commands)
			}
		}
	}
}
