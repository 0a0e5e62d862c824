package binaries_test

import (
	"path/filepath"
	"regexp"
	"testing"
)

// TestPinsAgreeWithTheProduct expects one version of each module that both the product
// and the control plane need: the go command then compiles its packages once.
func TestPinsAgreeWithTheProduct(t *testing.T) {
	product := requirements(t, filepath.Join("..", "..", "..", "go.mod"))
	common := 0
	for module, version := range requirements(t, filepath.Join("..", "controlplane", "go.mod")) {
		want, found := product[module]
		if !found {
			continue
		}
		common++
		if version != want {
			t.Errorf("%s is %s for the control plane and %s for the product; run: go -C e2e/fleet/controlplane get %s@%s",
				module, version, want, module, want)
		}
	}
	if common < 50 {
		t.Errorf("found %d common modules, want more", common)
	}
}

// requirements returns the versions that a go.mod requires, or replaces those with.
func requirements(t *testing.T, file string) map[string]string {
	t.Helper()
	text := read(t, file)
	versions := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(text, -1) {
		versions[line[1]] = line[2]
	}
	for _, line := range regexp.MustCompile(`(?m)^\t(\S+) => (\S+) (v\S+)`).FindAllStringSubmatch(text, -1) {
		if line[1] == line[2] {
			versions[line[1]] = line[3]
		}
	}
	return versions
}
