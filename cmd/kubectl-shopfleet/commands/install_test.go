package commands

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/config"
)

func now() time.Time { return time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC) }

// leading returns the Lease of a hub of a version that renewed it at a time, and has no Deployment.
func leading(version string, renewed time.Time) []client.Object {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "shopfleet-hub", Labels: v1.VersionLabels(version)}}
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = new("pod-1"), new(metav1.NewMicroTime(renewed))
	return []client.Object{lease}
}

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
		"newer, without Deployment": {"v1.2.0", leading("v1.3.0", now()), "v1.3.0"},
		"a newer one was removed":   {"v1.2.0", leading("v1.3.0", now().Add(-time.Hour)), ""},
		"a name that is no version": {"v1.2.0", processOf("mirror/hub:2026.11", "v1.1.0"), ""},
		"a build without a version": {config.DevelopmentVersion, processOf("shopfleet-hub:v1.3.0", "v1.3.0"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := &install{Program: &Program{version: tt.plugin, namespace: config.Namespace, clock: testclock.NewFakeClock(now())}}
			current, err := i.running(t.Context(), readOnly(t, tt.objects...), config.Hub)
			if err == nil {
				err = i.checkRelease(config.Hub, current)
			}
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

// TestInstallOverANewerSpoke: the Lease of a spoke has another name than its Deployment.
func TestInstallOverANewerSpoke(t *testing.T) {
	t.Parallel()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.SpokeServiceAccount}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.SpokeLease, Labels: v1.VersionLabels("v1.3.0")}}
	i := &install{Program: &Program{version: "v1.2.0", namespace: config.Namespace, clock: testclock.NewFakeClock(now())}}
	current, err := i.running(t.Context(), readOnly(t, deployment, lease), config.Spoke)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.checkRelease(config.Spoke, current); !errors.Is(err, errNewer) {
		t.Errorf("it says %v, want %v", err, errNewer)
	}
}

// TestRunbookOfAnInstallation: the flag reaches the process.
func TestRunbookOfAnInstallation(t *testing.T) {
	t.Parallel()
	for _, set := range []config.Set{config.Hub, config.Spoke} {
		i := &install{Program: &Program{version: "v1.2.0", namespace: config.Namespace}, runbook: "https://wiki/alerts", replicas: 1}
		plan, err := i.plan(set, process{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := plan.Objects[len(plan.Objects)-1].MarshalJSON()
		if err != nil || !strings.Contains(string(text), `"--runbook-url=https://wiki/alerts"`) {
			t.Errorf("%s: the Deployment is %s, %v; want the page among its arguments", set, text, err)
		}
	}
}

// TestPullSecretsAreKept: an installation without the flag keeps the pull Secrets that the Deployment has.
func TestPullSecretsAreKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ given, there, want []string }{
		"none":           {nil, nil, nil},
		"the first ones": {[]string{"a", "b"}, nil, []string{"a", "b"}},
		"again":          {nil, []string{"a", "b"}, []string{"a", "b"}},
		"other ones":     {[]string{"c"}, []string{"a", "b"}, []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := processOf("shopfleet-hub:v1.2.0", "v1.2.0")
			deployment, _ := objects[0].(*appsv1.Deployment)
			for _, secret := range tt.there {
				deployment.Spec.Template.Spec.ImagePullSecrets = append(deployment.Spec.Template.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: secret})
			}
			i := &install{Program: &Program{version: "v1.2.0", namespace: config.Namespace, clock: testclock.NewFakeClock(now())}, secrets: tt.given, replicas: 1}
			current, err := i.running(t.Context(), readOnly(t, objects...), config.Hub)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := i.plan(config.Hub, current)
			if err != nil {
				t.Fatal(err)
			}
			last := plan.Objects[len(plan.Objects)-1]
			references, _, err := unstructured.NestedSlice(last.Object, "spec", "template", "spec", "imagePullSecrets")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, reference := range references {
				fields, _ := reference.(map[string]any)
				name, _ := fields["name"].(string)
				got = append(got, name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pull Secrets (-want +got):\n%s", diff)
			}
		})
	}
}
