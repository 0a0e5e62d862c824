package commands

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/config"
)

// processOf returns the Deployment of a hub with an image, and the Lease of its leader with a version.
func processOf(image, version string) []client.Object {
	meta := metav1.ObjectMeta{Namespace: config.Namespace, Name: "shopfleet-hub"}
	deployment, lease := &appsv1.Deployment{ObjectMeta: meta}, &coordinationv1.Lease{ObjectMeta: meta}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Image: image}}
	lease.Labels = v1.VersionLabels(version)
	return []client.Object{deployment, lease}
}

// TestInstallOverANewerRelease: an installation changes nothing where a newer release runs, and names both and the fix.
func TestInstallOverANewerRelease(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		plugin  string
		objects []client.Object
		newer   string
	}{
		"nothing there":             {"v1.2.0", nil, ""},
		"an older release":          {"v1.2.0", processOf("shopfleet-hub:v1.1.0", "v1.1.0"), ""},
		"the same release":          {"v1.2.0", processOf("shopfleet-hub:v1.2.0", "v1.2.0"), ""},
		"a newer release":           {"v1.2.0", processOf("shopfleet-hub:v1.3.0", "v1.3.0"), "v1.3.0"},
		"a newer patch":             {"v1.2.0", processOf("shopfleet-hub:v1.2.1", "v1.2.1"), "v1.2.1"},
		"newer, with a digest":      {"v1.2.0", processOf("shopfleet-hub@sha256:012", "v1.3.0"), "v1.3.0"},
		"newer, and never led":      {"v1.2.0", processOf("shopfleet-hub:v1.3.0", "")[:1], "v1.3.0"},
		"a name that is no version": {"v1.2.0", processOf("mirror/hub:2026.11", "v1.1.0"), ""},
		"a build without a version": {config.DevelopmentVersion, processOf("shopfleet-hub:v1.3.0", "v1.3.0"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := &install{Program: &Program{version: tt.plugin, namespace: config.Namespace}}
			err := i.checkRelease(t.Context(), readOnly(t, tt.objects...), config.Hub)
			if errors.Is(err, errNewer) != (tt.newer != "") || tt.newer == "" && err != nil {
				t.Fatalf("it says %v, want a newer release %q", err, tt.newer)
			}
			if tt.newer == "" {
				return
			}
			if text := err.Error(); !strings.Contains(text, tt.plugin) || !strings.Contains(text, tt.newer) {
				t.Errorf("error %q, want both versions in it", text)
			}
			if got := hint.For(err); !strings.Contains(got, "Use kubectl-shopfleet of "+tt.newer) {
				t.Errorf("hint %q, want the program to use", got)
			}
		})
	}
}
