package propagate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// propagator is a member whose queue runs when a test says so, with the copy of an application, and the hub that the
// application propagates from.
type propagator struct {
	cluster.Cluster
	client.WithWatch
	hub        client.WithWatch
	dispatcher *Dispatcher
	queue      *MemberQueue
	clock      *clocktesting.FakePassiveClock
	app        *v1.EcommerceApp
	// copied is the copy as it was written last; nil if there is none.
	copied *v1.EcommerceApp
	// refused means that the copy is not written.
	refused bool
	// denied is the error of each read from the member's API server; nil if they succeed.
	denied error
	// away is the error of each read from the hub's API server; nil if they succeed.
	away error
	// reads counts those of sources on the hub.
	reads int
}

// GetClient returns a client of the member.
func (p *propagator) GetClient() client.Client { return p.WithWatch }

// GetAPIReader returns a client of the member's API server.
func (p *propagator) GetAPIReader() client.Reader {
	return interceptor.NewClient(p.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if p.denied != nil {
				return p.denied
			}
			return c.Get(ctx, key, into, opts...)
		},
	})
}

// hubCache has the application.
type hubCache struct {
	client.Reader
	*propagator
}

// Get reads from the cache of the hub.
func (h hubCache) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if app, ok := into.(*v1.EcommerceApp); ok {
		h.app.DeepCopyInto(app)
	}
	return nil
}

func newPropagator(t *testing.T, namespace string, hub, admin client.WithWatch) *propagator {
	t.Helper()
	p := &propagator{WithWatch: admin, hub: hub, clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))}
	p.app = &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop", UID: "u-1", Generation: 1}}
	p.app.Spec.Image, p.app.Status.Clusters = "shop:v1", []v1.ClusterStatus{{Name: "a"}}
	p.app.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}, {Kind: v1.PropagatedConfigMap, Name: "settings"}}
	for _, c := range []client.Client{hub, admin} {
		p.create(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	p.create(t, hub, &corev1.Secret{ObjectMeta: p.named("registry"), Type: "example.com/registry", Data: map[string][]byte{"password": []byte("first")}})
	p.create(t, hub, &corev1.ConfigMap{ObjectMeta: p.named("settings"), Data: map[string]string{"a": "b"}})
	p.engage(t)
	return p
}

// engage starts a new queue, as a hub that starts does.
func (p *propagator) engage(t *testing.T) {
	t.Helper()
	known := state.New(p.clock)
	p.dispatcher = New(hubCache{propagator: p}, Options{
		Clock: p.clock, Recorder: events.NewFakeRecorder(100), CallTimeout: time.Minute, State: known,
		Revisions: revisions.New(p.hub, p.hub, known), Wake: &controller.Queue{},
		APIReader: interceptor.NewClient(p.hub, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if p.reads++; p.away != nil {
				return p.away
			}
			return c.Get(ctx, key, into, opts...)
		}}),
	})
	p.dispatcher.Engage(t.Context(), p, Member{
		Name: "a", ManagedBy: v1.ManagedByHub, Memory: known.Connect("a", false), Queue: &controller.Queue{}, Copies: &controller.Queue{},
		Applier: apply.New(apply.Options{Client: p.WithWatch, Reader: p.GetAPIReader(), FieldManager: v1.HubFieldManager, Timeout: time.Minute}),
	})
	p.queue = p.dispatcher.Get("a")
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

// key is that of the application.
func (p *propagator) key() client.ObjectKey { return client.ObjectKeyFromObject(p.app) }

// result returns the last one about what is beside the copy.
func (p *propagator) result() state.Result { return p.queue.Memory.BesideResult(p.key(), p.app.UID) }

// reconcile runs the part of a pass of the hub that concerns propagated objects, and the queues.
func (p *propagator) reconcile(t *testing.T) {
	t.Helper()
	request := reconcile.Request{NamespacedName: p.key()}
	if _, _, err := p.dispatcher.Observe(t.Context(), p.app); err != nil {
		t.Fatal(err)
	}
	if _, err := p.dispatcher.readSources(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	sources := p.dispatcher.State.Sources(p.key(), p.app.UID)
	decision := &state.Decision{App: p.app.DeepCopy(), MayReturn: revisions.MayReturn(p.app)}
	if len(sources.Listed) > 0 {
		decision.App.Spec.Propagate = sources.Listed
	}
	order := &state.Order{Hash: fmt.Sprint(p.app.Generation, p.app.Annotations, decision.MayReturn, decision.App.Spec.Propagate)}
	decision.Orders = map[string]*state.Order{"a": order}
	p.dispatcher.State.HandOver(decision)
	owner := p.writeCopy(t, decision.App)
	p.queue.Memory.End(p.key(), &state.Result{App: p.app.UID, Hash: order.Hash, Owner: owner})
	if _, err := p.queue.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
}

// writeCopy writes the copy as the queue of copies does: it lists what is propagated, and what was and is not known to be
// deleted.
func (p *propagator) writeCopy(t *testing.T, app *v1.EcommerceApp) *state.Owner {
	t.Helper()
	owner := &state.Owner{ReadOnly: app.Spec.Paused}
	listed := app.Spec.Propagate
	if p.copied != nil {
		owner.UID, owner.Leftover = p.copied.UID, Leftover(p.copied, listed)
		for _, object := range owner.Leftover {
			if !p.queue.Memory.IsPruned(p.key(), owner.UID, object) {
				listed = append(slices.Clip(listed), object)
			}
		}
	}
	if p.refused {
		return &state.Owner{UID: owner.UID, Only: Recorded(p.copied)}
	}
	if owner.ReadOnly {
		return owner
	}
	next := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}, Spec: v1.EcommerceAppSpec{Image: "shop:v1"}}
	if p.copied != nil {
		next = p.copied.DeepCopy()
	}
	next.Annotations = map[string]string{v1.PropagatedAnnotation: Record(listed...)}
	var err error
	if owner.Created = p.copied == nil; owner.Created {
		err = p.Create(t.Context(), next)
	} else {
		err = p.Update(t.Context(), next)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.copied, owner.UID = next, next.UID
	return owner
}

// settle runs the queue until nothing is pruned or recorded any more.
func (p *propagator) settle(t *testing.T) {
	t.Helper()
	for range 3 {
		p.reconcile(t)
	}
}

// secret returns the Secret in the member; nil if there is none.
func (p *propagator) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	found := &corev1.Secret{ObjectMeta: p.named("registry")}
	err := p.Get(t.Context(), client.ObjectKeyFromObject(found), found)
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
