package install

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/api/apitest"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// baseCommit is the build that the upgrade test on kind begins with.
	baseCommit  = "14c9de47"
	definitions = "../../config/crd/bases"
)

// TestRenamedFields stores objects with the definitions of the base build, runs the commands of CHANGELOG.md that
// rename fields and upgrades: each value is there under its new name, and the object is valid.
func TestRenamedFields(t *testing.T) {
	e := framework.New(t, framework.Options{
		Fleet: fleet.Options{Hub: fleet.ClusterSpec{Name: "hub", Nodes: 2}}, Manifests: map[string][]string{"hub": nil},
	})
	s := &suite{cluster: e.Fleet.Hub(), client: e.Hub}
	if err := s.cluster.ApplyFolder(t.Context(), baseDefinitions(t)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shops", config.Namespace} {
		if err := s.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	s.runOldHub(t)
	for _, o := range documents(t, "before") {
		s.create(t, o)
	}
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	hub, spoke := apitest.RenamingCommands(string(changelog))
	s.bash(t, hub+spoke)
	s.bash(t, hub+spoke) // They can be repeated.
	s.run(t, "install", "hub", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done)
	if err := s.cluster.ApplyFolder(t.Context(), definitions); err != nil {
		t.Fatal(err)
	}
	s.checkDefinitions(t)
	for _, o := range documents(t, "after") {
		s.checkRenamed(t, o)
	}
}

// baseDefinitions returns a folder with the definitions of the base build.
func baseDefinitions(t *testing.T) string {
	t.Helper()
	archive, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "archive", baseCommit, "config/crd/bases").Output()
	if err != nil {
		t.Skipf("needs commit %s: fetch more of the history (git fetch --unshallow): %v", baseCommit, err)
	}
	dir := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "tar", "--extract", "--directory", dir)
	unpack.Stdin = bytes.NewReader(archive)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "config", "crd", "bases")
}

// documents returns the objects of a file.
func documents(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "renaming", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for document := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if document, err = yaml.YAMLToJSON(document); err != nil {
			t.Fatal(err)
		}
		if err := o.UnmarshalJSON(document); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	return objects
}

// create creates an object with its status, as a user and the hub of the base build do.
func (s *suite) create(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	status, has := o.Object["status"]
	err := s.client.Create(t.Context(), o, client.FieldValidation(metav1.FieldValidationStrict))
	if err == nil && has {
		o.Object["status"] = status
		err = s.client.Status().Update(t.Context(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runOldHub creates a Deployment with the name of the hub, whose pods are to be stopped.
func (s *suite) runOldHub(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app.kubernetes.io/name": "shopfleet-hub"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "shopfleet-hub", Namespace: config.Namespace}}
	d.Spec.Selector, d.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "hub", Image: "shopfleet-hub:v1"}}
	if err := s.client.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// bash runs commands as a user does who copies them from a page.
func (s *suite) bash(t *testing.T, commands string) {
	t.Helper()
	programs, err := binaries.Ensure(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.cluster.AdminKubeconfig(), "KUBECACHEDIR="+cmd.Dir,
		"PATH="+filepath.Dir(programs.Path(binaries.Kubectl))+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("running %s: %v\n%s", commands, err, out)
	}
	t.Logf("%s", out)
}

// checkDefinitions checks that nothing is left of what the commands changed in the definitions.
func (s *suite) checkDefinitions(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(definitions, "*_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("definitions %v, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, got := &apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, want); err != nil {
			t.Fatal(err)
		}
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(want), stored); err != nil {
			t.Fatal(err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Spec.Versions, got.Spec.Versions); diff != "" {
			t.Errorf("the definition %s (-want +got):\n%s", want.Name, diff)
		}
	}
}

// checkRenamed checks the spec of an object and the provider in its status, and that the API server accepts
// another object like it.
func (s *suite) checkRenamed(t *testing.T, want *unstructured.Unstructured) {
	t.Helper()
	got := &unstructured.Unstructured{}
	got.SetGroupVersionKind(want.GroupVersionKind())
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(want), got); err != nil {
		t.Fatal(err)
	}
	is := want.GetKind() + " " + want.GetName()
	if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
		t.Errorf("spec of %s (-want +got):\n%s", is, diff)
	}
	provider := func(o *unstructured.Unstructured) string {
		value, _, _ := unstructured.NestedString(o.Object, "status", "provider")
		return value
	}
	if provider(got) != provider(want) {
		t.Errorf("provider of %s is %q, want %q", is, provider(got), provider(want))
	}
	another := got.DeepCopy()
	another.Object["metadata"] = map[string]any{"name": "another", "namespace": got.GetNamespace()}
	if err := s.client.Create(t.Context(), another, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		t.Errorf("%s is not valid: %v", is, err)
	}
}
