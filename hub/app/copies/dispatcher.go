package copies

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// Dispatcher runs a MemberQueue for each connected member. It is safe for concurrent use.
type Dispatcher struct {
	*controller.Runner[*MemberQueue]
	options Options
	// hub reads from the hub's cache.
	hub  client.Reader
	wake *controller.Queue
	// state remembers applications.
	state *state.State
	// propagation writes what is beside the copies.
	propagation *propagate.Dispatcher
}

// New returns a Dispatcher without members. Its hub reads applications and members from a
// cache.
func New(hub client.Reader, o Options) *Dispatcher {
	o.applyDefaults()
	wake := &controller.Queue{}
	return &Dispatcher{
		Runner:  controller.New[*MemberQueue](controller.Options{Logger: o.Logger}),
		options: o, hub: hub, wake: wake, state: o.State,
		propagation: propagate.New(hub, propagate.Options{
			Clock: o.Clock, Logger: o.Logger, Recorder: o.Recorder, CallTimeout: o.CallTimeout,
			APIReader: o.APIReader, Revisions: o.Revisions, State: o.State, Waits: o.Waits, Resync: o.Resync, Wake: wake,
		}),
	}
}

// Propagation returns the dispatcher of what is propagated beside the copies. It runs with this one.
func (d *Dispatcher) Propagation() *propagate.Dispatcher { return d.propagation }

// Start runs the queues of members, and those of what is propagated, until ctx is done.
func (d *Dispatcher) Start(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- d.propagation.Start(ctx) }()
	return errors.Join(d.Runner.Start(ctx), <-ended)
}

// News returns a source of each application that a MemberQueue has news about.
func (d *Dispatcher) News() source.Source { return d.wake.Source() }

// Forget drops what is remembered of an application that is gone, and enqueues it where a queue waits for a pass over it.
func (d *Dispatcher) Forget(app types.NamespacedName) {
	for _, member := range d.state.Forget(app) {
		if m := d.Get(member); m != nil {
			m.queue.Add(reconcile.Request{NamespacedName: app})
		}
	}
}

// Engage runs the queue of a member until ctx is done.
func (d *Dispatcher) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	paused := d.options.Fleet.Paused(name.String())
	m := &MemberQueue{
		name: name.String(), managedBy: d.options.Fleet.Mode(name.String()).ManagedBy(), options: d.options, hub: d.hub, cluster: cl, wake: d.wake,
		state: d.state, memory: d.state.Connect(name.String(), paused), queue: &controller.Queue{},
		peer: d.Get, paused: paused, beside: &controller.Queue{},
		applier: apply.New(apply.Options{
			Client: cl.GetClient(), Reader: cl.GetAPIReader(),
			FieldManager: v1.HubFieldManager, Timeout: d.options.CallTimeout,
		}),
	}
	c := controller.Controller{
		Name: controllerName, Cluster: m.name, Reconciler: m, Queue: m.queue, Logger: d.options.Logger,
		Sources: []source.Source{m.copies(), d.announce(m.name)},
		List: func(ctx context.Context) ([]reconcile.Request, error) {
			pending, others, err := d.requests(ctx, m.name)
			m.queue.Add(pending...)
			return others, err
		},
		Workers: d.options.Workers, LastRetry: lastRetry, Resync: d.options.Resync,
	}
	if !d.Runner.Engage(ctx, name, controller.Engagement[*MemberQueue]{Cluster: cl, Value: m, Run: c.Run}) {
		m.memory.Close()
		return nil
	}
	d.propagation.Engage(ctx, cl, propagate.Member{
		Name: m.name, ManagedBy: m.managedBy, Memory: m.memory, Applier: m.applier, Queue: m.beside, Copies: m.queue,
	})
	// The member's cache is out of date from now on, not only when the last worker ends.
	context.AfterFunc(ctx, func() {
		m.memory.Close()
		pending, others, _ := d.state.Concerned(m.name)
		d.wake.AddLowPriority(controller.RequestsOf(slices.Concat(pending, others)...)...)
	})
	return nil
}

// Get returns the queue of a connected member, or nil.
func (d *Dispatcher) Get(name string) *MemberQueue {
	m, _ := d.Runner.Get(name)
	return m
}

// Observe fills in the copy of an application from the member's cache, and the result of
// the last attempt to write or delete it. What is stored is the Decision that the stored status says, as facts.
// Observe reports false if there was no attempt yet. That the copy
// is gone, or was applied, counts only as a result of the order that was handed over last.
func (m *MemberQueue) Observe(ctx context.Context, stored *state.Decision, c *aggregate.Cluster) (bool, error) {
	t, app := m.taskOf(stored), stored.App
	found, known := m.memory.Result(keyOf(app), app.UID)
	if !known && t.order != nil {
		return false, nil
	}
	c.Failure, c.Unknown, c.Gone = failureIn(found, t.order), found.Unknown, found.Gone && t.deletes()
	c.Pending, c.Paused = found.Pending, c.Paused || m.paused
	// Only an entry without an applied generation needs it.
	c.Unconfirmed = t.deletes() || !t.hadCopy() && !found.Applied
	live, reported, err := m.observed(ctx, app)
	// An attempt that a conflict or a timeout ended says nothing about what is beside the copy.
	if found.Owner != nil || live != nil && known && !found.Applied && !t.deletes() {
		beside := m.memory.BesideResult(keyOf(app), app.UID)
		c.PropagationFailure = failureIn(beside, t.order)
		c.Pending = slices.Concat(c.Pending, beside.Pending)
	}
	if live == nil || err != nil {
		return true, err
	}
	c.Copy = observedCopy(app, live)
	addRefusal(c, live)
	if c.Copy != nil && c.Copy.HubGeneration < app.Generation && m.isCurrent(ctx, t, live, found) {
		c.Copy.HubGeneration = app.Generation
	}
	if reported != nil && c.Copy != nil {
		c.Copy.Status = *reported
	}
	if !known {
		// The member is about to be chosen: no other one gets a copy before this one is compared.
		c.Unknown = recovery.OriginAfter(recovery.AssessCopy(m.observedFacts(ctx, t, live)), "")
	}
	return true, nil
}

// failureIn returns the failure of an attempt as far as it counts for an order; nil if there is none.
func failureIn(last state.Result, order *state.Order) *aggregate.Failure {
	switch {
	case last.Failure == nil || order == nil:
		return last.Failure
	case last.Revision != order.Revision:
		return nil // It is about the revision before.
	}
	failure := *last.Failure
	failure.Earlier = last.Hash != order.Hash
	return &failure
}

// observed returns the copy of an application from the member's cache, nil if there is none, and the
// status that counts in place of its own, nil if there is none. They must not be changed.
func (m *MemberQueue) observed(ctx context.Context, app *v1.EcommerceApp) (*v1.EcommerceApp, *v1.EcommerceAppStatus, error) {
	live := &v1.EcommerceApp{}
	var status *v1.EcommerceAppStatus
	err := m.cluster.GetClient().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy)
	if err == nil {
		status = m.memory.Status(live)
	}
	if err == nil && status == nil {
		// If the cache got the status between the two, it has it now, and no event follows.
		err = m.cluster.GetClient().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("reading the copy in member %q: %w", m.name, err)
	}
	return live, status, nil
}

// requests returns requests for the applications that a member's queue has orders about, those first
// of which the member has missed something, and for the copies that deleted ones left behind in the
// member.
func (d *Dispatcher) requests(ctx context.Context, member string) (pending, others []reconcile.Request, err error) {
	records, err := d.options.Residue.List(ctx, member)
	if err != nil {
		return nil, nil, err
	}
	missed, rest, _ := d.state.Concerned(member)
	return controller.RequestsOf(missed...), controller.RequestsOf(append(rest, keysOf(records)...)...), nil
}

// announce wakes the reconciler of applications when a member is connected: for those that it runs, and for
// those that are not decided, or whose copies elsewhere wait for what it has. The placement follows from
// the MemberCluster.
func (d *Dispatcher) announce(member string) source.Source {
	return source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		d.wake.AddLowPriority(d.affected(member)...)
		return nil
	})
}

// affected returns requests for the applications that what a member has may affect.
func (d *Dispatcher) affected(member string) []reconcile.Request {
	pending, others, open := d.state.Concerned(member)
	return controller.RequestsOf(slices.Concat(pending, others, open)...)
}

// Revisit enqueues the copies of a member, for a change of the member that they mention. It returns
// requests for their applications, and for those whose copies are not created because of what
// other members have, or may have.
func (d *Dispatcher) Revisit(ctx context.Context, member string) []reconcile.Request {
	pending, others, err := d.requests(ctx, member)
	if err != nil {
		return nil // The cache fails only when the process ends.
	}
	if m := d.Get(member); m != nil {
		m.queue.Add(pending...)
		m.queue.AddLowPriority(others...)
	}
	return d.affected(member)
}

// DecisionOf returns the Decision that a status says about an application, with the objects that its clusters need.
func (d *Dispatcher) DecisionOf(app *v1.EcommerceApp, status *v1.EcommerceAppStatus) *state.Decision {
	return DecisionOf(app, status, d.state.Sources(keyOf(app), app.UID))
}

// HandOver hands a Decision over to the queues, and enqueues it where a queue has not acted on its order. It costs
// nothing for the others. A queue that begins catches up before it compares what has been written.
func (d *Dispatcher) HandOver(decision *state.Decision) {
	for _, member := range d.state.HandOver(decision) {
		m := d.Get(member)
		if m == nil {
			continue
		}
		if _, known := m.memory.Result(keyOf(decision.App), decision.App.UID); known || decision.IsPending(member) {
			m.queue.Add(controller.RequestFor(decision.App))
		} else {
			m.queue.AddLowPriority(controller.RequestFor(decision.App))
		}
	}
}

// keyOf returns the key of an application and of its copies.
func keyOf(app *v1.EcommerceApp) types.NamespacedName {
	return client.ObjectKeyFromObject(app)
}
