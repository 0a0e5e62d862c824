package apply_test

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// server is an API server whose requests are counted.
type server struct {
	client.WithWatch
	writes, reads int
	// before is called ahead of the next apply.
	before func()
}

func newServer(t *testing.T) *server {
	t.Helper()
	f := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "one", APIServerOnly: true}}})
	direct, err := client.NewWithWatch(f.Member("one").AdminConfig(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{}
	s.WithWatch = interceptor.NewClient(direct, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			s.reads++
			return c.Get(ctx, key, object, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			s.writes++
			if before := s.before; before != nil {
				s.before = nil
				before()
			}
			return c.Apply(ctx, object, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			s.writes++
			return c.Patch(ctx, object, patch, opts...)
		},
	})
	return s
}

func (s *server) applier() *apply.Applier {
	return apply.New(apply.Options{Client: s, Reader: s, FieldManager: "test"})
}

// slimApplier returns an applier of a cache that has no content of objects.
func (s *server) slimApplier() *apply.Applier {
	slim := func(component.Resource) bool { return true }
	return apply.New(apply.Options{Client: s, Reader: s, FieldManager: "test", Slim: slim})
}

func labelled(live component.Resource) bool { return live.GetLabels()["a"] == "1" }

// TestApplier shares one API server among cases that use different names.
func TestApplier(t *testing.T) {
	s := newServer(t)
	t.Run("create, leave, repair", testLifecycle(s))
	t.Run("stale cache", testStale(s))
	t.Run("rewritten by the server", testRewritten(s))
	t.Run("stranger", testStranger(s))
	t.Run("adopted if equal", testIfNoDiff(s))
	t.Run("missing in the cache", testMissing(s, "missing", s.applier))
	t.Run("missing in a slim cache", testMissing(s, "missing-slim", s.slimApplier))
	t.Run("expected in the cache", testExpected(s))
	t.Run("lost race", testRace(s))
	t.Run("newer version", testVersions(s))
	t.Run("once", testOnce(s))
	t.Run("once and missing in the cache", testOnceMissing(s))
	t.Run("once and lost", testLost(s))
	t.Run("once and stripped", testOnceStripped(s))
	t.Run("once and handed back", testHandBack(s))
	t.Run("item in the way", testInTheWay(s))
	t.Run("hand over the number of pods", testHandOver(s))
	t.Run("contended", testContended(s))
	t.Run("autoscaler", testAutoscaler(s))
	t.Run("edited hash", testEditedHash(s))
	t.Run("held", testHeld(s))
	t.Run("dry run", testDryRun(s))
	t.Run("dry run of a Secret", testDryRunSecret(s))
	t.Run("delete", testDelete(s))
}

// testHandOver leaves the number of pods to an autoscaler: it stays until that decides.
func testHandOver(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		labels := map[string]string{"a": "1"}
		intent := func(image string, replicas *int32) *appsv1.Deployment {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "autoscaled", Labels: labels}}
			d.Spec.Replicas = replicas
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
			d.Spec.Template.Labels = labels
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: image}}
			return d
		}
		live := func() *appsv1.Deployment {
			d := &appsv1.Deployment{}
			if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent("", nil)), d); err != nil {
				t.Fatal(err)
			}
			return d
		}
		expect := func(want int32) {
			t.Helper()
			if got := *live().Spec.Replicas; got != want {
				t.Fatalf("%d pods, want %d", got, want)
			}
		}
		do(t, a, apply.Request{Intent: intent("web:1", new(int32(3))), Owned: labelled}, apply.Created)
		do(t, a, apply.Request{Intent: intent("web:1", nil), Live: live(), Owned: labelled}, apply.Updated)
		expect(3)
		decided := live()
		decided.Spec.Replicas = new(int32(5))
		if err := s.Update(t.Context(), decided); err != nil {
			t.Fatal(err)
		}
		do(t, a, apply.Request{Intent: intent("web:2", nil), Live: live(), Owned: labelled}, apply.Updated)
		expect(5)
		do(t, a, apply.Request{Intent: intent("web:2", new(int32(2))), Live: live(), Owned: labelled}, apply.Updated)
		expect(2)
		// No autoscaler looks at what is stopped: it starts with one pod.
		do(t, a, apply.Request{Intent: intent("web:2", new(int32(0))), Live: live(), Owned: labelled}, apply.Updated)
		expect(0)
		do(t, a, apply.Request{Intent: intent("web:2", nil), Live: live(), Owned: labelled}, apply.Updated)
		expect(1)
		// With a minimum, it starts with that.
		do(t, a, apply.Request{Intent: intent("web:2", new(int32(0))), Live: live(), Owned: labelled}, apply.Updated)
		do(t, a, apply.Request{Intent: intent("web:2", nil), Live: live(), Owned: labelled, StartReplicas: 4}, apply.Updated)
		expect(4)
		do(t, a, apply.Request{Intent: intent("web:3", nil), Live: live(), Owned: labelled, StartReplicas: 2}, apply.Updated)
		expect(4)
	}
}

func testLifecycle(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		intent := configMap()
		do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Created)
		live := get(t, s, intent)
		if live.Annotations[v1.SpecHashAnnotation] == "" {
			t.Error("no hash was written")
		}
		s.writes, s.reads = 0, 0
		do(t, a, apply.Request{Intent: intent, Live: live, Owned: labelled}, apply.Unchanged)
		// A restart remembers nothing.
		do(t, s.applier(), apply.Request{Intent: intent, Live: live, Owned: labelled}, apply.Unchanged)
		if s.writes != 0 || s.reads != 0 {
			t.Errorf("an unchanged object cost %d writes and %d reads", s.writes, s.reads)
		}
		live.Data["x"] = "drifted"
		live.Data["z"] = "theirs"
		if err := s.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		do(t, a, apply.Request{Intent: intent, Live: live, Owned: labelled}, apply.Updated)
		if got := get(t, s, intent).Data; got["x"] != "1" || got["z"] != "theirs" {
			t.Errorf("after the repair data is %v", got)
		}
		delete(intent.Data, "y")
		do(t, a, apply.Request{Intent: intent, Live: get(t, s, intent), Owned: labelled}, apply.Updated)
		if _, ok := get(t, s, intent).Data["y"]; ok {
			t.Error("a key that is no longer wanted is still there")
		}
		// Missing in the cache, but there: nothing is written.
		s.writes = 0
		do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Unchanged)
		if s.writes != 0 {
			t.Error("an object that the cache has not seen yet was written again")
		}
	}
}

// testStale writes while the cache goes on showing what was before.
func testStale(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		intent := configMap()
		intent.Name = "stale"
		do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Created)
		before := get(t, s, intent)
		intent.Data["x"] = "2"
		do(t, a, apply.Request{Intent: intent, Live: before.DeepCopy(), Owned: labelled}, apply.Updated)
		s.writes = 0
		do(t, a, apply.Request{Intent: intent, Live: before.DeepCopy(), Owned: labelled}, apply.Unchanged)
		if s.writes != 0 {
			t.Error("the same change was written twice")
		}
		intent.Data["x"] = "3"
		do(t, a, apply.Request{Intent: intent, Live: before.DeepCopy(), Owned: labelled}, apply.Updated)
		do(t, a, apply.Request{Intent: intent, Live: get(t, s, intent), Owned: labelled}, apply.Unchanged)
	}
}

// testRewritten checks an apply to a server that permanently stores something else than the intent.
func testRewritten(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		intent := &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rewritten", Labels: map[string]string{"a": "1"}},
			StringData: map[string]string{"never": "read back"},
		}
		do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Created)
		live := &corev1.Secret{}
		for range 3 {
			if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
				t.Fatal(err)
			}
			do(t, a, apply.Request{Intent: intent, Live: live, Owned: labelled}, apply.Unchanged)
		}
		live.Data["never"] = []byte("changed")
		if err := s.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		do(t, a, apply.Request{Intent: intent, Live: live, Owned: labelled}, apply.Updated)
	}
}

func testStranger(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		stranger := configMap()
		stranger.Name, stranger.Labels = "stranger", nil
		stranger.Data = map[string]string{"x": "theirs", "w": "theirs"}
		if err := s.Create(t.Context(), stranger); err != nil {
			t.Fatal(err)
		}
		intent := configMap()
		intent.Name = stranger.Name
		var conflict *apply.ConflictError
		if _, err := a.Apply(t.Context(), apply.Request{Intent: intent, Owned: labelled}); !errors.As(err, &conflict) || conflict.Controller != "" {
			t.Fatalf("got %v, want a conflict without controller", err)
		}
		if got := get(t, s, intent); got.ResourceVersion != stranger.ResourceVersion {
			t.Error("a stranger was written")
		}
		stranger.Annotations = map[string]string{v1.AdoptAnnotation: string(v1.AdoptAlways)}
		stranger.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", Controller: new(true)}}
		if err := s.Update(t.Context(), stranger); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Apply(t.Context(), apply.Request{Intent: intent, Owned: labelled}); !errors.As(err, &conflict) || conflict.Controller != "Pod" {
			t.Fatalf("got %v, want a conflict with a Pod", err)
		}
		stranger.OwnerReferences = nil
		if err := s.Update(t.Context(), stranger); err != nil {
			t.Fatal(err)
		}
		do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Updated)
		if got := get(t, s, intent); got.Data["x"] != "1" || got.Data["w"] != "theirs" || got.Labels["a"] != "1" {
			t.Errorf("after the adoption: %v %v", got.Labels, got.Data)
		}
	}
}

// testInTheWay changes the key of an item as another client: an apply would add ours beside theirs, which the API
// server rejects.
func testInTheWay(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		intent := &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ports", Labels: map[string]string{"a": "1"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		}
		do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Created)
		live := &corev1.Service{}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
			t.Fatal(err)
		}
		live.Spec.Ports[0].Port = 81
		if err := s.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		do(t, a, apply.Request{Intent: intent, Live: live.DeepCopy(), Owned: labelled}, apply.Updated)
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
			t.Fatal(err)
		}
		if len(live.Spec.Ports) != 1 || live.Spec.Ports[0].Port != 80 {
			t.Errorf("ports are %v", live.Spec.Ports)
		}
		intent.Spec.Ports[0].Port = 99999
		if _, err := a.Apply(t.Context(), apply.Request{Intent: intent, Live: live, Owned: labelled}); !apierrors.IsInvalid(err) {
			t.Errorf("got %v, want that it is invalid", err)
		}
	}
}

func testDelete(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		object := configMap()
		object.Name = "deleted"
		if err := s.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		old := object.DeepCopy()
		object.Data["x"] = "2"
		if err := s.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if err := a.Delete(t.Context(), old, metav1.DeletePropagationBackground); !apierrors.IsConflict(err) {
			t.Errorf("deleting as seen long ago: %v, want a conflict", err)
		}
		for range 2 {
			if err := a.Delete(t.Context(), object, metav1.DeletePropagationBackground); err != nil {
				t.Errorf("deleting: %v", err)
			}
		}
		again := configMap()
		again.Name = object.Name
		if err := s.Create(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		if err := a.Delete(t.Context(), object, metav1.DeletePropagationBackground); !apierrors.IsConflict(err) {
			t.Errorf("deleting one that was made again: %v, want a conflict", err)
		}
	}
}

func do(t *testing.T, a *apply.Applier, request apply.Request, want apply.Outcome) {
	t.Helper()
	result, err := a.Apply(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if result.Outcome != want {
		t.Errorf("outcome is %s, want %s", result.Outcome, want)
	}
	if written := want == apply.Created || want == apply.Updated; (result.Object != nil) != written {
		t.Errorf("outcome %s comes with the object %v", want, result.Object)
	}
}

func get(t *testing.T, s *server, object *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	live := &corev1.ConfigMap{}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(object), live); err != nil {
		t.Fatal(err)
	}
	return live
}
