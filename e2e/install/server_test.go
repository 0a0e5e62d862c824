package install

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/config"
)

// operatorDefinitions returns the definitions of the Prometheus operator, from the module that config/tools pins.
func operatorDefinitions(t *testing.T) string {
	t.Helper()
	const module = "github.com/prometheus-operator/prometheus-operator"
	cmd := exec.CommandContext(t.Context(), "go", "-C", filepath.Join(root, "config/tools/prometheus-operator"), "mod", "download", "-json", module)
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("downloading %s: %v", module, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(raw, &found); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(found.Dir, "example", "prometheus-operator-crd")
}

// strictly makes the server try the objects, with unknown and double fields as errors.
func (s *suite) strictly(t *testing.T, from string, all objects) {
	t.Helper()
	for name, object := range all {
		err := s.client.Create(t.Context(), object.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Errorf("%s: %s: %v", from, name, err)
		}
	}
}

// testManifests shows that a server takes all that can be installed.
func (s *suite) testManifests(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"servicemonitors", "prometheusrules", "alertmanagerconfigs"} {
		raw, err := os.ReadFile(filepath.Join(operatorDefinitions(t), "monitoring.coreos.com_"+kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.cluster.Apply(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
	for _, process := range processes() {
		all := kustomize(t, string(process))
		s.strictly(t, "kustomize "+string(process), all)
		s.strictly(t, "helm "+string(process), template(t, process, everything()...))
	}
	s.strictly(t, "monitoring", kustomize(t, "monitoring"))
	s.strictly(t, "monitoring/spoke", kustomize(t, "monitoring/spoke"))
	example, err := os.ReadFile(filepath.Join(root, "config/monitoring/alertmanager-example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.strictly(t, "alertmanager", parse(t, example))
}

// testRestricted shows that the server would refuse a pod that may do more.
func (s *suite) testRestricted(t *testing.T) {
	t.Helper()
	for _, process := range processes() {
		deployment := kustomize(t, string(process))["Deployment/shopfleet-"+string(process)]
		pod := podOf(t, deployment)
		if err := s.client.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
			t.Errorf("the pod of the %s: %v", process, err)
		}
		pod.Spec.SecurityContext.RunAsNonRoot = nil
		err := s.client.Create(t.Context(), pod, client.DryRunAll)
		if !apierrors.IsForbidden(err) || !strings.Contains(fmt.Sprint(err), "PodSecurity") {
			t.Errorf("a pod as root: %v, want it refused by Pod Security", err)
		}
	}
}

// podOf makes a pod of a Deployment's template.
func podOf(t *testing.T, deployment *unstructured.Unstructured) *corev1.Pod {
	t.Helper()
	typed := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(deployment.Object, typed); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: typed.Spec.Template.ObjectMeta, Spec: typed.Spec.Template.Spec}
	pod.Namespace, pod.Name = config.Namespace, "restricted"
	pod.Spec.ServiceAccountName = "default"
	return pod
}

// checkVersions compares the resourceVersions of the installed objects with those of before, but of those whose status
// controllers write.
func (s *suite) checkVersions(t *testing.T, before map[string]string) {
	t.Helper()
	after := s.versions(t, config.Hub)
	for _, counted := range []map[string]string{before, after} {
		maps.DeleteFunc(counted, func(name, _ string) bool {
			return strings.HasPrefix(name, "Deployment/") || strings.HasPrefix(name, "PodDisruptionBudget/")
		})
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("resourceVersions (-before +after):\n%s", diff)
	}
}
