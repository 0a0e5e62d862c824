package apply_test

import (
	"bytes"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// drawn returns a Secret that is written once, and the request that writes it.
func drawn(name string) (*corev1.Secret, apply.Request) {
	intent := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"a": "1"}},
		Data:       map[string][]byte{"username": []byte("shop")},
	}
	return intent, apply.Request{Intent: intent, Once: true, Owned: labelled, Generate: &component.Generate{Random: map[string]int{"password": 24}}}
}

func testOnce(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		intent, request := drawn("once")
		do(t, a, request, apply.Created)
		live := &corev1.Secret{}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
			t.Fatal(err)
		}
		if len(live.Data["password"]) != 24 || string(live.Data["username"]) != "shop" {
			t.Errorf("keys are %d and %d bytes long", len(live.Data["password"]), len(live.Data["username"]))
		}
		live.Data["password"], live.Data["username"] = []byte("mine"), nil
		request.Live = live
		do(t, a, request, apply.Unchanged)

		// One that is handed over is completed, and keeps what it has.
		theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "handed-over",
			Annotations: map[string]string{v1.AdoptAnnotation: string(v1.AdoptAlways)}}, Data: map[string][]byte{"password": []byte("theirs")}}
		if err := s.Create(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		intent.Name, request.Live = theirs.Name, nil
		do(t, a, request, apply.Updated)
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
			t.Fatal(err)
		}
		if string(live.Data["password"]) != "theirs" || string(live.Data["username"]) != "shop" || live.Labels["a"] != "1" {
			t.Errorf("the adopted Secret has labels %v and %d keys", live.Labels, len(live.Data))
		}
	}
}

// testOnceMissing checks a cache without a Secret that exists: what was drawn for the attempt to create it must not
// replace what it has.
func testOnceMissing(s *server) func(*testing.T) {
	return func(t *testing.T) {
		intent, request := drawn("behind")
		do(t, s.applier(), request, apply.Created)
		before := &corev1.Secret{}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), before); err != nil {
			t.Fatal(err)
		}
		do(t, s.applier(), request, apply.Unchanged)
		// A label is restored, and nothing else is written.
		before.Labels = map[string]string{"a": "1", "b": "theirs"}
		intent.Labels = map[string]string{"a": "1", "c": "new"}
		if err := s.Update(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		do(t, s.applier(), request, apply.Updated)
		after := &corev1.Secret{}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), after); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before.Data, after.Data); diff != "" || after.Labels["c"] != "new" {
			t.Errorf("labels %v; data was changed:\n%s", after.Labels, diff)
		}
	}
}

// testLost holds that nothing is drawn anew for data that would not open with it.
func testLost(s *server) func(*testing.T) {
	return func(t *testing.T) {
		intent, request := drawn("lost")
		request.RequiredByClaim = "data-0"
		_, err := s.applier().Apply(t.Context(), request)
		if lost, ok := errors.AsType[*apply.LostError](err); !ok || lost.Data != "data-0" || lost.Key.Name != "lost" {
			t.Fatalf("error %v, want the loss of the Secret", err)
		}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), &corev1.Secret{}); !apierrors.IsNotFound(err) {
			t.Errorf("the Secret: %v, want none", err)
		}
		request.RequiredByClaim = ""
		do(t, s.applier(), request, apply.Created)
	}
}

// testHandBack strips a Secret that we made of all that makes it ours, and hands it
// back as the conflict says: what was drawn must survive.
func testHandBack(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		intent, request := drawn("handed-back")
		do(t, a, request, apply.Created)
		live := &corev1.Secret{}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
			t.Fatal(err)
		}
		want := live.Data
		live.Labels, live.Annotations = nil, map[string]string{v1.AdoptAnnotation: string(v1.AdoptAlways)}
		if err := s.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		do(t, a, request, apply.Updated)
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
			t.Fatal(err)
		}
		if live.Labels["a"] != "1" || !maps.EqualFunc(want, live.Data, bytes.Equal) {
			t.Errorf("labels are %v, and the data is the same: %t", live.Labels, maps.EqualFunc(want, live.Data, bytes.Equal))
		}
	}
}

// testOnceStripped edits the metadata of an object that is written once. Without its
// labels, a cache that goes by them has it no more, and it would be missing forever.
func testOnceStripped(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a := s.applier()
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "u-1", Controller: new(true)}
		intent := &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "once-stripped",
				Labels: map[string]string{"a": "1"}, OwnerReferences: []metav1.OwnerReference{owner}},
		}
		ours := func(live component.Resource) bool {
			c := metav1.GetControllerOf(live)
			return c == nil || c.UID == owner.UID
		}
		request := apply.Request{Intent: intent, Once: true, Owned: ours, Generate: &component.Generate{Random: map[string]int{"password": 24}}}
		do(t, a, request, apply.Created)
		for name, edit := range map[string]func(*corev1.Secret){
			"no labels":     func(live *corev1.Secret) { live.Labels = nil },
			"another label": func(live *corev1.Secret) { live.Labels["a"] = "2" },
			"no controller": func(live *corev1.Secret) { live.OwnerReferences = nil },
			"another kind":  func(live *corev1.Secret) { live.OwnerReferences[0].Kind = "Secret" },
			"no hash":       func(live *corev1.Secret) { live.Annotations = nil },
		} {
			request.Live = nil
			t.Run(name, edited(s, a, request, edit))
			request.Live = &corev1.Secret{}
			t.Run(name+", cached", edited(s, a, request, edit))
		}
	}
}

// edited edits the metadata of a Secret, which an apply then puts right without
// changing its data. A request with a live object gets the one that is there.
func edited(s *server, a *apply.Applier, request apply.Request, edit func(*corev1.Secret)) func(*testing.T) {
	return func(t *testing.T) {
		want, live := read(t, s, request), read(t, s, request)
		edit(live)
		if err := s.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		if request.Live != nil {
			request.Live = live.DeepCopy()
		}
		do(t, a, request, apply.Updated)
		live = read(t, s, request)
		request.Live = live.DeepCopy()
		do(t, a, request, apply.Unchanged)
		if diff := cmp.Diff(want.Labels, live.Labels); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want.OwnerReferences, live.OwnerReferences); diff != "" {
			t.Error(diff)
		}
		if !maps.EqualFunc(want.Data, live.Data, bytes.Equal) {
			t.Error("the data is another")
		}
	}
}

func read(t *testing.T, s *server, request apply.Request) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(request.Intent), secret); err != nil {
		t.Fatal(err)
	}
	return secret
}
