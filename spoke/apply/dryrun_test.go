package apply_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// dryRunner returns an applier that makes dry runs.
func (s *server) dryRunner() *apply.Applier {
	return apply.New(apply.Options{Client: client.NewDryRunClient(s), Reader: s, FieldManager: "test", DryRun: true})
}

// expectDryRun compares the change of a dry run, but for annotations; one without an action is none.
func (s *server) expectDryRun(t *testing.T, request apply.Request, want v1.PendingChange) {
	t.Helper()
	result, err := s.dryRunner().Apply(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if result.Change == nil || want.Action == "" {
		if (result.Change == nil) != (want.Action == "") || want.Action == "" && result.Outcome != apply.Unchanged {
			t.Errorf("%+v, want %+v", result, want)
		}
		return
	}
	got := *result.Change
	got.Fields = slices.DeleteFunc(got.Fields, func(f string) bool { return strings.HasPrefix(f, "metadata.annotations[") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
}

// testDryRun compares what dry runs answer with what is stored, which they do not change.
func testDryRun(s *server) func(*testing.T) {
	return func(t *testing.T) {
		labels := map[string]string{"a": "1"}
		intent := func(image string, env ...corev1.EnvVar) *appsv1.Deployment {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "dry", Labels: labels}}
			d.Spec.Replicas, d.Spec.Selector = new(int32(3)), &metav1.LabelSelector{MatchLabels: labels}
			d.Spec.Template.Labels = labels
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: image, Env: env}}
			return d
		}
		live := &appsv1.Deployment{}
		get := func() error { return s.Get(t.Context(), client.ObjectKeyFromObject(intent("")), live) }
		expect := func(request apply.Request, want v1.PendingAction, fields ...string) {
			t.Helper()
			s.expectDryRun(t, request, v1.PendingChange{Kind: "Deployment", Name: "dry", Action: want, Fields: fields})
		}
		debug := corev1.EnvVar{Name: "DEBUG", Value: "1"}
		expect(apply.Request{Intent: intent("web:1", debug), Owned: labelled}, v1.PendingCreate)
		if err := get(); !apierrors.IsNotFound(err) {
			t.Fatalf("after a dry run: %v, want no object", err)
		}
		do(t, s.applier(), apply.Request{Intent: intent("web:1", debug), Owned: labelled}, apply.Created)
		if err := get(); err != nil {
			t.Fatal(err)
		}
		version := live.ResourceVersion
		over := func(d *appsv1.Deployment) apply.Request { return apply.Request{Intent: d, Live: live, Owned: labelled} }
		expect(over(intent("web:1", debug)), "")
		expect(over(intent("web:2", debug)), v1.PendingUpdate, "spec.template.spec.containers[web].image: web:1 -> web:2")
		expect(over(intent("web:1")), v1.PendingUpdate, `spec.template.spec.containers[web].env: [{"name":"DEBUG","value":"1"}] -> none`)
		autoscaled := intent("web:2", debug)
		autoscaled.Spec.Replicas = nil
		expect(over(autoscaled), v1.PendingUpdate, "spec.template.spec.containers[web].image: web:1 -> web:2")
		other := intent("web:1", debug)
		other.Spec.Selector.MatchLabels, other.Spec.Template.Labels = map[string]string{"b": "1"}, map[string]string{"b": "1"}
		if _, err := s.dryRunner().Apply(t.Context(), over(other)); !apierrors.IsInvalid(err) {
			t.Errorf("another selector: %v, want the refusal of the API server", err)
		}
		if err := s.dryRunner().Delete(t.Context(), live, metav1.DeletePropagationForeground); err != nil {
			t.Error(err)
		}
		if err := get(); err != nil || live.ResourceVersion != version || live.DeletionTimestamp != nil {
			t.Errorf("after dry runs: version %s, want %s: %v", live.ResourceVersion, version, err)
		}
	}
}

// testDryRunSecret checks that a dry run names only the paths of a Secret.
func testDryRunSecret(s *server) func(*testing.T) {
	return func(t *testing.T) {
		intent, request := drawn("dry-secret")
		request.Once = false
		do(t, s.applier(), request, apply.Created)
		intent.Data["username"] = []byte("other")
		result, err := s.dryRunner().Apply(t.Context(), request)
		if err != nil || result.Change == nil {
			t.Fatalf("%+v, %v, want a change", result, err)
		}
		if diff := cmp.Diff([]string{"data.username"}, slices.DeleteFunc(result.Change.Fields, func(f string) bool { return strings.HasPrefix(f, "metadata") })); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
	}
}
