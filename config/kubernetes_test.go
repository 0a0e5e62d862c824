package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSupportsKubernetes checks versions as providers name them.
func TestSupportsKubernetes(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]bool{
		"v1.29.15": false, "v1.29.3-gke.1282000": false, "v1.29.0-eks-508b6b3": false, "v1.9.1": false, "v0.30.0": false,
		"v1.30.0": true, "v1.30.0-rc.1": true, "v1.30.4+k3s1": true, "v1.36.3": true, "v2.0.0": true, "": true, "unknown": true,
	} {
		if got := SupportsKubernetes(server); got != want {
			t.Errorf("%q is supported: %t, want %t", server, got, want)
		}
	}
}

// TestChartsNeedTheSameKubernetes checks that the charts install where hub and spoke run.
func TestChartsNeedTheSameKubernetes(t *testing.T) {
	t.Parallel()
	charts, err := filepath.Glob(filepath.Join("charts", "*", "Chart.yaml"))
	if err != nil || len(charts) != 2 {
		t.Fatalf("charts %q: %v", charts, err)
	}
	for _, chart := range charts {
		raw, err := os.ReadFile(chart)
		if err != nil {
			t.Fatal(err)
		}
		if want := `kubeVersion: ">= ` + OldestKubernetes + `.0-0"`; !strings.Contains(string(raw), want+"\n") {
			t.Errorf("%s lacks the line %s", chart, want)
		}
	}
}

// TestIsNewerThanTested checks that no patch, build or pre-release of the newest version that is tested counts as newer.
func TestIsNewerThanTested(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]bool{
		"v1.30.0": false, "v1.36.0": false, "v1.36.99-gke.100": false, "v1.37.0": true, "v1.37.0-rc.1": true, "v1.37.2-eks-508b6b3": true, "v2.0.0": true,
		"": false, "unknown": false,
	} {
		if got := IsNewerThanTested(server); got != want {
			t.Errorf("%q is newer than tested: %t, want %t", server, got, want)
		}
	}
}

// TestVersionsOfKubernetesAreStated checks that the newest version is that of the control planes in tests, and that the
// pages state both.
func TestVersionsOfKubernetesAreStated(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"../e2e/fleet/controlplane/go.mod": {"k8s.io/kubernetes v" + NewestKubernetes + "."},
		"../README.md":                     {"need Kubernetes " + OldestKubernetes + " or later", "run Kubernetes " + NewestKubernetes + ", the newest"},
		"../hub/README.md":                 {"Kubernetes " + OldestKubernetes, NewestKubernetes},
		"../CHANGELOG.md":                  {"Kubernetes " + OldestKubernetes},
	} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(string(raw), text) {
				t.Errorf("%s does not have %q", file, text)
			}
		}
	}
}
