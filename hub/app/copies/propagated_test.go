package copies

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// propagator is a member, and the hub that an application propagates from.
type propagator struct {
	member
	hub   client.WithWatch
	clock *clocktesting.FakePassiveClock
	// reads counts those of sources on the hub.
	reads int
}

// GetClient returns a client that reads copies from the cache.
func (p *propagator) GetClient() client.Client { return p.member.GetClient() }

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
		"revision": testEarlierRevision,
	} {
		t.Run(name, func(t *testing.T) { test(t, newPropagator(t, "propagate-"+name, hub, member)) })
	}
}

func newPropagator(t *testing.T, namespace string, hub, admin client.WithWatch) *propagator {
	t.Helper()
	p := &propagator{hub: hub, clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))}
	p.WithWatch, p.app = admin, shop(1, 1, "a")
	p.app.Namespace, p.app.Spec.Image = namespace, "shop:v1"
	p.app.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}, {Kind: v1.PropagatedConfigMap, Name: "settings"}}
	p.create(t, hub, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	p.create(t, hub, &corev1.Secret{ObjectMeta: p.named("registry"), Type: "example.com/registry", Data: map[string][]byte{"password": []byte("first")}})
	p.create(t, hub, &corev1.ConfigMap{ObjectMeta: p.named("settings"), Data: map[string]string{"a": "b"}})
	p.engage(t)
	return p
}

// engage starts a new queue, as a hub that starts does.
func (p *propagator) engage(t *testing.T) {
	t.Helper()
	d := New(&p.member, Options{
		Recorder: events.NewFakeRecorder(100), Clock: p.clock, Revisions: revisions.New(p.hub, p.hub, nil),
		FanOut: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fanout_seconds", Help: "Fan-out."}, []string{"cluster"}),
		APIReader: interceptor.NewClient(p.hub, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			p.reads++
			return c.Get(ctx, key, into, opts...)
		}}),
	})
	if err := d.Engage(t.Context(), "a", &p.member); err != nil {
		t.Fatal(err)
	}
	p.dispatcher, p.queue = d, d.Get("a")
}

func (p *propagator) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.app.Namespace, Name: name}
}

func (p *propagator) create(t *testing.T, in client.Client, o client.Object) {
	t.Helper()
	if err := in.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// reconcile runs a pass of the hub, as far as it is about what is propagated, and the queue.
func (p *propagator) reconcile(t *testing.T) {
	t.Helper()
	if _, _, err := p.dispatcher.ReadSources(t.Context(), p.app); err != nil {
		t.Fatal(err)
	}
	p.member.reconcile(t)
}

// settle runs the queue until nothing is pruned or recorded any more.
func (p *propagator) settle(t *testing.T) {
	t.Helper()
	for range 3 {
		p.reconcile(t)
		p.cached = p.live(t)
	}
}

// secret returns the Secret in the member; nil if there is none.
func (p *propagator) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	found := &corev1.Secret{ObjectMeta: p.named("registry")}
	err := p.WithWatch.Get(t.Context(), client.ObjectKeyFromObject(found), found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantPassword checks the Secret in the member.
func (p *propagator) wantPassword(t *testing.T, want string) {
	t.Helper()
	if found := p.secret(t); found == nil || string(found.Data["password"]) != want {
		t.Errorf("the Secret in the member is %+v, want the password %q", found, want)
	}
}

// change replaces the content of the source.
func (p *propagator) change(t *testing.T, data map[string][]byte) {
	t.Helper()
	source := &corev1.Secret{}
	if err := p.hub.Get(t.Context(), client.ObjectKey{Namespace: p.app.Namespace, Name: "registry"}, source); err != nil {
		t.Fatal(err)
	}
	source.Data = data
	if err := p.hub.Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
}

// quietly checks that passes change nothing in the member and read nothing on the hub.
func (p *propagator) quietly(t *testing.T) {
	t.Helper()
	p.denied = errors.New("read from the member")
	defer func() { p.denied = nil }()
	before, reads := p.secret(t), p.reads
	p.settle(t)
	if p.reads != reads {
		t.Errorf("%d reads on the hub, want none", p.reads-reads)
	}
	if diff := cmp.Diff(before, p.secret(t)); diff != "" {
		t.Errorf("the Secret was written (-before +after):\n%s", diff)
	}
}

// testWritten: the objects are written with the copy that owns them, once.
func testWritten(t *testing.T, p *propagator) {
	t.Helper()
	p.reconcile(t)
	p.cached = p.live(t)
	if got, want := p.cached.Annotations[v1.PropagatedAnnotation], "ConfigMap/settings,Secret/registry"; got != want || len(p.cached.Spec.Propagate) > 0 {
		t.Errorf("the copy lists %q, want %q; it propagates %v itself", got, want, p.cached.Spec.Propagate)
	}
	written := p.secret(t)
	p.wantPassword(t, "first")
	want := []metav1.OwnerReference{{APIVersion: "ecommerce.io/v1", Kind: "EcommerceApp", Name: p.app.Name, UID: p.cached.UID}}
	if diff := cmp.Diff(want, written.OwnerReferences); diff != "" || written.Type != "example.com/registry" || !propagate.IsOurs(written) {
		t.Errorf("the Secret has type %s, labels %v and owners (-want +got):\n%s", written.Type, written.Labels, diff)
	}
	if len(written.ManagedFields) != 1 || written.ManagedFields[0].Manager != v1.HubFieldManager {
		t.Errorf("the Secret was written by %+v", written.ManagedFields)
	}
	if err := p.WithWatch.Get(t.Context(), client.ObjectKey{Namespace: p.app.Namespace, Name: "settings"}, &corev1.ConfigMap{}); err != nil {
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

// testChanged: a source that changes is followed, also if it loses a key, when it is read again.
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

// testUnreadable: what cannot be read on the hub stays in the member, and the rest is written.
func testUnreadable(t *testing.T, p *propagator) {
	t.Helper()
	p.app.Spec.Propagate = append(p.app.Spec.Propagate, v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "absent"})
	p.settle(t)
	p.wantPassword(t, "first")
	condition, due, _ := p.dispatcher.ReadSources(t.Context(), p.app)
	if condition.Reason != v1.ReasonMissing || due.After(p.clock.Now().Add(problemPeriod*13/10)) {
		t.Errorf("condition %+v until %s", condition, due)
	}
	if err := p.hub.Delete(t.Context(), &corev1.Secret{ObjectMeta: p.named("registry")}); err != nil {
		t.Fatal(err)
	}
	p.clock.SetTime(due)
	p.settle(t)
	p.wantPassword(t, "first")
	if found, _ := p.queue.memory.Result(keyOf(p.app), p.app.UID); found.Failure != nil || !found.Applied {
		t.Errorf("reported %+v", found)
	}
	p.engage(t)
	p.settle(t)
	p.wantPassword(t, "first")
}

// testPruned: what is no longer listed is deleted, once, and the copy no longer lists it.
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
	if got, want := p.live(t).Annotations[v1.PropagatedAnnotation], "ConfigMap/settings"; got != want {
		t.Errorf("the copy lists %q, want %q", got, want)
	}
	p.quietly(t)
	p.app.Spec.Propagate = nil
	p.app.Generation++
	p.settle(t)
	if got, lists := p.live(t).Annotations[v1.PropagatedAnnotation]; lists {
		t.Errorf("the copy lists %q, want nothing", got)
	}
	if p.queue.memory.SeeBeside(keyOf(p.app), v1.PropagatedObject{}, state.Deleted); p.queue.memory.HasDrifted(keyOf(p.app), v1.PropagatedObject{}, state.Written{}) {
		t.Error("the queue remembers an application that propagates nothing")
	}
}

// testForeign: an object of a user is not overwritten unless the user allows it.
func testForeign(t *testing.T, p *propagator) {
	t.Helper()
	p.namespace(t)
	p.create(t, p.WithWatch, &corev1.Secret{ObjectMeta: p.named("registry"), Type: "example.com/registry", Data: map[string][]byte{"password": []byte("theirs")}})
	p.settle(t)
	p.wantPassword(t, "theirs")
	found, _ := p.queue.memory.Result(keyOf(p.app), p.app.UID)
	if found.Failure == nil || found.Failure.Reason != v1.ReasonConflict || !found.Failure.Propagation || !found.Applied {
		t.Errorf("reported %+v, want a conflict about an object beside a copy that was applied", found)
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
	if found, _ := p.queue.memory.Result(keyOf(p.app), p.app.UID); found.Failure != nil {
		t.Errorf("reported %+v after the adoption", found.Failure)
	}
}

// testType: a Secret whose type changes is created again.
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

// testShared: an object of two applications is deleted with the last of them.
func testShared(t *testing.T, p *propagator) {
	t.Helper()
	first := p.app
	p.settle(t)
	p.app, p.cached = first.DeepCopy(), nil
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

// testHeld: nothing is written for an application that is paused, and what would be is reported.
func testHeld(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	p.app.Spec.Paused = true
	p.app.Generation++
	p.change(t, map[string][]byte{"password": []byte("second")})
	p.app.Spec.Propagate = p.app.Spec.Propagate[:1]
	p.settle(t)
	p.wantPassword(t, "first")
	found, _ := p.queue.memory.Result(keyOf(p.app), p.app.UID)
	want := []v1.PendingChange{{Kind: "Secret", Name: "registry", Action: v1.PendingUpdate}, {Kind: "ConfigMap", Name: "settings", Action: v1.PendingDelete}}
	if diff := cmp.Diff(want, found.Pending); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	p.app.Spec.Paused = false
	p.app.Generation++
	p.settle(t)
	p.wantPassword(t, "second")
}

// testRecreatedCopy: a copy that was deleted in the member and is created again owns the objects.
func testRecreatedCopy(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	if err := errors.Join(
		p.Patch(t.Context(), p.live(t), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))),
		p.Delete(t.Context(), p.live(t)),
	); err != nil {
		t.Fatal(err)
	}
	p.cached = nil
	p.settle(t)
	if owners := p.secret(t).OwnerReferences; len(owners) != 1 || owners[0].UID != p.live(t).UID {
		t.Errorf("the Secret has owners %+v, want the new copy", owners)
	}
}
