package propagate

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

func TestPropagation(t *testing.T) {
	f := fleettest.Start(t, fleet.Options{
		Hub: fleet.ClusterSpec{Name: "hub", APIServerOnly: true}, Members: []fleet.ClusterSpec{{Name: "a", APIServerOnly: true}},
	})
	scheme := runtime.NewScheme()
	if err := errors.Join(
		f.Member("a").ApplyFolder(t.Context(), "../../../config/crd/bases"),
		clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme),
	); err != nil {
		t.Fatal(err)
	}
	admin := func(c *fleet.Cluster) client.WithWatch {
		made, err := client.NewWithWatch(c.AdminConfig(), client.Options{Scheme: scheme})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	hub, member := admin(f.Hub()), admin(f.Member("a"))
	for name, test := range map[string]func(*testing.T, *propagator){
		"written": testWritten, "changed": testChanged, "unreadable": testUnreadable, "pruned": testPruned, "foreign": testForeign,
		"type": testType, "shared": testShared, "held": testHeld, "drift": testDrift, "recreated": testRecreatedCopy,
		"revision": testEarlierRevision, "superseded": testSuperseded, "hub-away": testHubAway, "panic": testPanic, "refused": testRefusedCopy,
	} {
		t.Run(name, func(t *testing.T) { test(t, newPropagator(t, "propagate-"+name, hub, member)) })
	}
}

// testWritten checks that the objects are written with the copy that owns them, once.
func testWritten(t *testing.T, p *propagator) {
	t.Helper()
	p.reconcile(t)
	written := p.secret(t)
	p.wantPassword(t, "first")
	want := []metav1.OwnerReference{{APIVersion: "ecommerce.io/v1", Kind: "EcommerceApp", Name: p.app.Name, UID: p.copied.UID}}
	if diff := cmp.Diff(want, written.OwnerReferences); diff != "" || written.Type != "example.com/registry" || !isOurs(written) {
		t.Errorf("the Secret has type %s, labels %v and owners (-want +got):\n%s", written.Type, written.Labels, diff)
	}
	if len(written.ManagedFields) != 1 || written.ManagedFields[0].Manager != v1.HubFieldManager {
		t.Errorf("the Secret was written by %+v", written.ManagedFields)
	}
	if err := p.Get(t.Context(), client.ObjectKey{Namespace: p.app.Namespace, Name: "settings"}, &corev1.ConfigMap{}); err != nil {
		t.Error(err)
	}
	if p.reads != 4 {
		t.Errorf("%d reads on the hub, want one of each object to compare it, and one for the member", p.reads)
	}
	p.quietly(t)
	p.engage(t) // A hub that starts finds what it wrote.
	p.settle(t)
	if diff := cmp.Diff(written, p.secret(t)); diff != "" {
		t.Errorf("the Secret was written again (-before +after):\n%s", diff)
	}
	p.quietly(t)
}

// testChanged checks that a source that changes is followed, also if it loses a key, when it is read again.
func testChanged(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	p.change(t, map[string][]byte{"password": []byte("second"), "user": []byte("a")})
	p.quietly(t) // It is not read yet.
	p.clock.SetTime(p.clock.Now().Add(sourcePeriod * 13 / 10))
	p.settle(t)
	p.wantPassword(t, "second")
	p.change(t, map[string][]byte{"password": []byte("third")})
	p.app.Annotations = map[string]string{v1.ReconcileAtAnnotation: "now"}
	p.settle(t)
	p.wantPassword(t, "third")
	if found := p.secret(t); len(found.Data) != 1 {
		t.Errorf("the Secret has %d keys, want one", len(found.Data))
	}
	if err := p.Delete(t.Context(), p.secret(t)); err != nil {
		t.Fatal(err)
	}
	p.quietly(t) // Nothing reports what happens to it in the member.
	p.app.Annotations[v1.ReconcileAtAnnotation] = "again"
	p.settle(t)
	p.wantPassword(t, "third")
}

// testUnreadable checks that an object that cannot be read on the hub stays in the member, and that the rest is
// written.
func testUnreadable(t *testing.T, p *propagator) {
	t.Helper()
	p.app.Spec.Propagate = append(p.app.Spec.Propagate, v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "absent"})
	p.settle(t)
	p.wantPassword(t, "first")
	condition, _, _ := p.dispatcher.Observe(t.Context(), p.app)
	due := p.dispatcher.State.Sources(p.key(), p.app.UID).Due
	if condition.Reason != v1.ReasonMissing || due.After(p.clock.Now().Add(problemPeriod*13/10)) {
		t.Errorf("condition %+v until %s", condition, due)
	}
	if err := p.hub.Delete(t.Context(), &corev1.Secret{ObjectMeta: p.named("registry")}); err != nil {
		t.Fatal(err)
	}
	p.clock.SetTime(due)
	p.settle(t)
	p.wantPassword(t, "first")
	if found := p.result(); found.Failure != nil {
		t.Errorf("reported %+v", found)
	}
	p.engage(t)
	p.settle(t)
	p.wantPassword(t, "first")
}

// testPruned checks that an object that is no longer listed is deleted, once, and that the copy no longer lists it.
func testPruned(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	p.app.Spec.Propagate = p.app.Spec.Propagate[1:]
	p.app.Generation++
	p.engage(t) // Also by a hub that has started since.
	p.settle(t)
	if found := p.secret(t); found != nil {
		t.Errorf("the Secret is still there: %+v", found.ObjectMeta)
	}
	if got, want := p.copied.Annotations[v1.PropagatedAnnotation], "ConfigMap/settings"; got != want {
		t.Errorf("the copy lists %q, want %q", got, want)
	}
	p.quietly(t)
	p.app.Spec.Propagate = nil
	p.app.Generation++
	p.settle(t)
	if got := p.copied.Annotations[v1.PropagatedAnnotation]; got != "" {
		t.Errorf("the copy lists %q, want nothing", got)
	}
}

// testForeign checks that an object of a user is not overwritten unless the user allows it.
func testForeign(t *testing.T, p *propagator) {
	t.Helper()
	p.create(t, p.WithWatch, &corev1.Secret{ObjectMeta: p.named("registry"), Type: "example.com/registry", Data: map[string][]byte{"password": []byte("theirs")}})
	p.settle(t)
	p.wantPassword(t, "theirs")
	found := p.result()
	if found.Failure == nil || found.Failure.Reason != v1.ReasonConflict {
		t.Errorf("reported %+v, want a conflict about an object beside the copy", found)
	}
	p.app.Spec.Propagate = nil
	p.app.Generation++
	p.settle(t)
	p.wantPassword(t, "theirs")
	p.app.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
	p.app.Generation++
	theirs := p.secret(t)
	metav1.SetMetaDataAnnotation(&theirs.ObjectMeta, v1.AdoptAnnotation, string(v1.AdoptAlways))
	if err := p.Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	p.settle(t)
	p.wantPassword(t, "first")
	if found := p.result(); found.Failure != nil {
		t.Errorf("reported %+v after the adoption", found.Failure)
	}
}

// testType checks that a Secret whose type changes is created again.
func testType(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	before := p.secret(t)
	if err := p.hub.Delete(t.Context(), &corev1.Secret{ObjectMeta: p.named("registry")}); err != nil {
		t.Fatal(err)
	}
	p.create(t, p.hub, &corev1.Secret{ObjectMeta: p.named("registry"), Data: map[string][]byte{"password": []byte("second")}})
	p.app.Generation++
	p.settle(t)
	p.wantPassword(t, "second")
	if after := p.secret(t); after.Type != corev1.SecretTypeOpaque || after.UID == before.UID {
		t.Errorf("the Secret has type %s", after.Type)
	}
}

// testShared checks that an object of two applications is deleted with the last of them.
func testShared(t *testing.T, p *propagator) {
	t.Helper()
	first := p.app
	p.settle(t)
	p.app, p.copied = first.DeepCopy(), nil
	p.app.Name, p.app.UID = "other", "u-2"
	p.settle(t)
	if owners := p.secret(t).OwnerReferences; len(owners) != 2 {
		t.Errorf("the Secret has owners %+v, want both copies", owners)
	}
	p.app.Spec.Propagate = nil
	p.app.Generation++
	p.settle(t)
	if found := p.secret(t); found == nil || len(found.OwnerReferences) != 1 || found.OwnerReferences[0].Name != first.Name {
		t.Errorf("the Secret is %+v, want that it has the first owner", found)
	}
}

// testHeld checks that nothing is written for a paused application, and that the pending changes are reported.
func testHeld(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	p.app.Spec.Paused = true
	p.app.Generation++
	p.change(t, map[string][]byte{"password": []byte("second")})
	p.app.Spec.Propagate = p.app.Spec.Propagate[:1]
	p.settle(t)
	p.wantPassword(t, "first")
	found := p.result()
	want := []v1.PendingChange{{Kind: "Secret", Name: "registry", Action: v1.PendingUpdate}, {Kind: "ConfigMap", Name: "settings", Action: v1.PendingDelete}}
	if diff := cmp.Diff(want, found.Pending); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	p.app.Spec.Paused = false
	p.app.Generation++
	p.settle(t)
	p.wantPassword(t, "second")
}

// testRecreatedCopy checks that a copy that was deleted in the member and is created again owns the objects.
func testRecreatedCopy(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	if err := p.Delete(t.Context(), p.copied); err != nil {
		t.Fatal(err)
	}
	p.copied = nil
	p.settle(t)
	if owners := p.secret(t).OwnerReferences; len(owners) != 1 || owners[0].UID != p.copied.UID {
		t.Errorf("the Secret has owners %+v, want the new copy", owners)
	}
}

// testRefusedCopy checks that a new password goes on to a cluster whose copy is refused, and that nothing is created or
// deleted there.
func testRefusedCopy(t *testing.T, p *propagator) {
	t.Helper()
	p.app.Spec.Propagate = p.app.Spec.Propagate[:1]
	p.settle(t)
	p.refused = true
	p.app.Spec.Propagate = append(p.app.Spec.Propagate, v1.PropagatedObject{Kind: v1.PropagatedConfigMap, Name: "settings"})
	p.app.Generation++
	p.change(t, map[string][]byte{"password": []byte("second")})
	p.settle(t)
	p.wantPassword(t, "second")
	settings := &corev1.ConfigMap{ObjectMeta: p.named("settings")}
	if err := p.Get(t.Context(), client.ObjectKeyFromObject(settings), settings); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap, which the copy does not list, is there: %v", err)
	}
	p.app.Spec.Propagate = p.app.Spec.Propagate[1:]
	p.app.Generation++
	p.settle(t)
	p.wantPassword(t, "second")
	p.refused = false
	p.settle(t)
	if err := p.Get(t.Context(), client.ObjectKeyFromObject(settings), settings); err != nil || p.secret(t) != nil {
		t.Errorf("after the copy was written: %v, and the Secret %+v", err, p.secret(t))
	}
}
