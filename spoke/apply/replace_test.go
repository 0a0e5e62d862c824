package apply_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestReplace writes over a Service whose port of the same name has another number, which
// an apply cannot change.
func TestReplace(t *testing.T) {
	s := newServer(t)
	t.Run("keeps what others added", testReplaceKeeps(s))
	t.Run("needs the version that was seen", testReplaceVersion(s))
	t.Run("a claim grows from the version that was seen", testGrowVersion(s))
}

func portsOf(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: map[string]string{"a": "1"}, Finalizers: []string{"example.com/ours"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "ours", UID: "1"}},
		},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

// inTheWay creates a Service and changes its port as another client.
func inTheWay(t *testing.T, s *server, a *apply.Applier, intent *corev1.Service) *corev1.Service {
	t.Helper()
	do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Created)
	live := &corev1.Service{}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
		t.Fatal(err)
	}
	live.Spec.Ports[0].Port = 81
	live.Finalizers = append(live.Finalizers, "example.com/theirs")
	live.OwnerReferences = append(live.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "theirs", UID: "2"})
	if err := s.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	return live
}

func testReplaceKeeps(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a, intent := s.applier(), portsOf("kept")
		live := inTheWay(t, s, a, intent)
		do(t, a, apply.Request{Intent: intent, Live: live.DeepCopy(), Owned: labelled}, apply.Updated)
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
			t.Fatal(err)
		}
		if live.Spec.Ports[0].Port != 80 {
			t.Errorf("port %d, want 80", live.Spec.Ports[0].Port)
		}
		if len(live.OwnerReferences) != 2 {
			t.Errorf("owners %+v, want ours and theirs", live.OwnerReferences)
		}
		if !slices.Contains(live.Finalizers, "example.com/theirs") {
			t.Errorf("finalizers %q, want theirs too", live.Finalizers)
		}
		checkOneOwner(t, live)
		// What a later intent drops goes, because no other entry of ours owns it.
		intent.Labels = map[string]string{"b": "2"}
		do(t, a, apply.Request{Intent: intent, Live: live.DeepCopy(), Owned: func(component.Resource) bool { return true }}, apply.Updated)
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
			t.Fatal(err)
		}
		if live.Labels["a"] != "" || live.Labels["b"] != "2" {
			t.Errorf("labels %v, want those of the last intent", live.Labels)
		}
	}
}

// checkOneOwner checks that the fields of the test's field manager are those of an apply.
func checkOneOwner(t *testing.T, live *corev1.Service) {
	t.Helper()
	var ours []string
	for _, m := range live.ManagedFields {
		if m.Manager == "test" {
			ours = append(ours, string(m.Operation))
		}
	}
	if diff := cmp.Diff([]string{"Apply"}, ours); diff != "" {
		t.Errorf("managed fields of the test (-want +got):\n%s", diff)
	}
}

func testReplaceVersion(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a, intent := s.applier(), portsOf("changed")
		live := inTheWay(t, s, a, intent)
		stale := live.DeepCopy()
		live.Spec.Ports[0].Port = 82
		if err := s.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Apply(t.Context(), apply.Request{Intent: intent, Live: stale, Owned: labelled}); !apierrors.IsConflict(err) {
			t.Errorf("replacing a version that was not seen: %v, want a conflict", err)
		}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
			t.Fatal(err)
		}
		if live.Spec.Ports[0].Port != 82 {
			t.Errorf("port %d, want that of the version that was not seen", live.Spec.Ports[0].Port)
		}
	}
}

func testGrowVersion(s *server) func(*testing.T) {
	return func(t *testing.T) {
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "claim"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}
		if err := s.Create(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		stale := claim.DeepCopy()
		claim.Labels = map[string]string{"changed": "since"}
		if err := s.Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		if _, err := s.applier().Grow(t.Context(), stale, resource.MustParse("2Gi")); !apierrors.IsConflict(err) {
			t.Errorf("growing a version that was not seen: %v, want a conflict", err)
		}
	}
}

// TestDeadlines checks that no request of an Applier waits for ever, whatever its caller's context.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	var without []string
	sent := 0
	note := func(ctx context.Context, request string) error {
		sent++
		if _, ok := ctx.Deadline(); !ok {
			without = append(without, request)
		}
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), "a", nil)
	}
	c := interceptor.NewClient(unserved{}, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return note(ctx, "get")
		},
		Apply: func(ctx context.Context, _ client.WithWatch, _ runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			return note(ctx, "apply")
		},
		Patch: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return note(ctx, "patch")
		},
		Delete: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ ...client.DeleteOption) error {
			return note(ctx, "delete")
		},
	})
	a := apply.New(apply.Options{Client: c, Reader: c, FieldManager: "test"})
	intent, live := portsOf("a"), portsOf("a")
	owned := func(component.Resource) bool { return true }
	for request, send := range map[string]func() error{
		"get": func() error { _, err := a.Apply(t.Context(), apply.Request{Intent: intent, Owned: owned}); return err },
		"apply and patch": func() error {
			_, err := a.Apply(t.Context(), apply.Request{Intent: intent, Live: live, Owned: owned})
			return err
		},
		"delete": func() error { return a.Delete(t.Context(), live, metav1.DeletePropagationBackground) },
	} {
		if err := send(); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v, want the answer of the API server", request, err)
		}
	}
	if sent != 4 || len(without) > 0 {
		t.Errorf("%d requests, without a deadline %q; want 4 with one", sent, without)
	}
}

// unserved is a client that knows kinds and sends nothing.
type unserved struct{ client.WithWatch }

// Scheme returns that of Kubernetes.
func (unserved) Scheme() *runtime.Scheme { return clientgoscheme.Scheme }

// GroupVersionKindFor returns the kind of an object by that scheme.
func (unserved) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(object, clientgoscheme.Scheme)
}
