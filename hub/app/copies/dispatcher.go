package copies

import (
	"context"
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
	seen *generations
	// written and decisions are what the reconciler of applications handed over.
	written   *written
	decisions *decisions
	undecided *undecided
	// sources are the objects that applications propagate.
	sources *sources
}

// New returns a Dispatcher without members. Its hub reads applications and members from a
// cache.
func New(hub client.Reader, o Options) *Dispatcher {
	o.applyDefaults()
	return &Dispatcher{
		Runner:  controller.New[*MemberQueue](controller.Options{Logger: o.Logger}),
		options: o, hub: hub, wake: &controller.Queue{}, seen: newGenerations(o.Clock),
		written: newWritten(), decisions: newDecisions(), undecided: newUndecided(),
		sources: newSources(o),
	}
}

// News returns a source of each application that a MemberQueue has news about.
func (d *Dispatcher) News() source.Source { return d.wake.Source() }

// Forget drops what is remembered of an application that is gone.
func (d *Dispatcher) Forget(app types.NamespacedName) {
	d.seen.forget(app)
	d.written.forget(app)
	d.decisions.forget(app)
	d.undecided.take(app)
	d.sources.forget(app)
	for _, m := range d.All() {
		m.lookups.forget(app)
		m.reports.forget(app)
		m.propagated.forget(app)
	}
}

// Engage runs the queue of a member until ctx is done.
func (d *Dispatcher) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	m := &MemberQueue{
		name: name.String(), managedBy: d.options.ManagedByMode(name.String()), options: d.options, hub: d.hub, cluster: cl, wake: d.wake, seen: d.seen,
		reports: newReports(), written: d.written, lookups: newLookups(), queue: &controller.Queue{},
		peer: d.Get, undecided: d.undecided,
		paused: d.options.Paused(name.String()), sources: d.sources, propagated: newPropagated(),
		applier: apply.New(apply.Options{
			Client: cl.GetClient(), Reader: cl.GetAPIReader(),
			FieldManager: v1.HubFieldManager, Timeout: d.options.CallTimeout,
		}),
	}
	m.reported = newReportedStatuses(m.paused)
	c := controller.Controller{
		Name: controllerName, Cluster: m.name, Reconciler: m, Queue: m.queue, Logger: d.options.Logger,
		Sources: []source.Source{m.copies(), m.besideCopies(), d.announce(m.name)},
		List: func(ctx context.Context) ([]reconcile.Request, error) {
			pending, others, err := d.requests(ctx, m.name)
			m.queue.Add(pending...)
			return others, err
		},
		Workers: d.options.Workers, LastRetry: lastRetry, Resync: d.options.Resync,
	}
	if !d.Runner.Engage(ctx, name, controller.Engagement[*MemberQueue]{Cluster: cl, Value: m, Run: c.Run}) {
		return nil
	}
	// The member's cache is out of date from now on, not only when the last worker ends.
	context.AfterFunc(ctx, func() {
		if pending, others, err := d.requests(context.WithoutCancel(ctx), m.name); err == nil {
			d.wake.AddLowPriority(slices.Concat(pending, others)...)
		} // The cache fails only when the process ends.
	})
	return nil
}

// Get returns the queue of a connected member, or nil.
func (d *Dispatcher) Get(name string) *MemberQueue {
	m, _ := d.Runner.Get(name)
	return m
}

// Observe fills in the copy of an application from the member's cache, and the result of
// the last attempt to write or delete it. It reports false if there was no attempt yet.
func (l *MemberQueue) Observe(ctx context.Context, app *v1.EcommerceApp, c *aggregate.Cluster) (bool, error) {
	entry := EntryOf(app, l.name)
	if deletes(app, entry) {
		l.reports.leave(keyOf(app))
	} else {
		// A member that is left later needs an absence that is found later.
		l.reports.forgetAbsence(keyOf(app))
	}
	found, known := l.reports.about(keyOf(app), app.UID)
	if !known && entry != nil {
		return false, nil
	}
	c.Failure, c.Unknown, c.Gone = found.failure, found.unknown, found.gone
	if entry != nil && found.revision != entry.Revision {
		c.Failure = nil // It is about the revision before.
	}
	c.Pending, c.Paused = found.pending, c.Paused || l.paused
	// Only an entry without an applied generation needs it, and it may cost another reconciliation.
	c.Unconfirmed = deletes(app, entry) || (entry == nil || entry.AppliedGeneration == 0) && !l.reports.confirmed(keyOf(app), app.UID)
	live, reported, err := l.observed(ctx, app)
	if live == nil || err != nil {
		return true, err
	}
	c.Copy = observedCopy(app, live)
	if c.Copy != nil && c.Copy.HubGeneration < app.Generation && l.keeps(ctx, app, live, found) {
		c.Copy.HubGeneration = app.Generation
	}
	if reported != nil && c.Copy != nil {
		c.Copy.Status = *reported
	}
	if !known {
		// The member is about to be chosen: no other one gets a copy before this one is compared.
		c.Unknown = l.unknownOrigin(ctx, app, live)
	}
	return true, nil
}

// observed returns the copy of an application from the member's cache, nil if there is none, and the
// status that counts in place of its own, nil if there is none. They must not be changed.
func (l *MemberQueue) observed(ctx context.Context, app *v1.EcommerceApp) (*v1.EcommerceApp, *v1.EcommerceAppStatus, error) {
	live := &v1.EcommerceApp{}
	var status *v1.EcommerceAppStatus
	err := l.cluster.GetClient().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy)
	if err == nil {
		status = l.reported.of(live)
	}
	if err == nil && status == nil {
		// If the cache got the status between the two, it has it now, and no event follows.
		err = l.cluster.GetClient().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("reading the copy in member %q: %w", l.name, err)
	}
	return live, status, nil
}

// requests returns requests for the applications that a member's queue is concerned with, those first
// of which the member has missed something, and for the copies that deleted ones left behind in the
// member. What the hub wrote counts before its cache has it: a decision that was dispatched before the
// member was connected is not dispatched again.
func (d *Dispatcher) requests(ctx context.Context, member string) (pending, others []reconcile.Request, err error) {
	apps, err := d.concerned(ctx, member)
	if err != nil {
		return nil, nil, err
	}
	records, err := d.options.Residue.List(ctx, member)
	if err != nil {
		return nil, nil, err
	}
	for _, app := range apps {
		if isPending(app, member) {
			pending = append(pending, requestFor(app))
		} else {
			others = append(others, requestFor(app))
		}
	}
	return pending, append(others, requestsFor(records)...), nil
}

// announce wakes the reconciler of applications when a member is connected: for those that it runs or
// may run, and for those whose copies elsewhere wait for what it has. The placement follows from
// the MemberCluster.
func (d *Dispatcher) announce(member string) source.Source {
	return source.Func(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		apps, err := d.concerned(ctx, member)
		if err != nil {
			return err
		}
		for _, app := range apps {
			d.seen.see(nil, app)
			d.wake.AddLowPriority(requestFor(app))
		}
		d.wake.AddLowPriority(d.undecided.requests()...)
		return nil
	})
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
	return slices.Concat(pending, others, d.undecided.requests())
}

// See records when a generation of an application reached the hub, to measure how long
// it takes to reach the members. Before is nil for an application that is new.
func (d *Dispatcher) See(before, app *v1.EcommerceApp) { d.seen.see(before, app) }

// Newest returns the newer of an application in the hub's cache and what the hub wrote
// last, and whether the cache has yet to catch up.
//
// An application with a planned status is ahead of a cache that has its metadata. A plan ends when
// the application is changed meanwhile.
func (d *Dispatcher) Newest(cached *v1.EcommerceApp) (app *v1.EcommerceApp, ahead bool) {
	planned := d.written.of(keyOf(cached)).planned
	if app, ahead = d.written.newest(cached); planned && !ahead {
		d.decisions.forget(keyOf(cached))
	}
	return app, ahead
}

// Planned reports whether the queues work with a status of an application that is yet to be written.
func (d *Dispatcher) Planned(app *v1.EcommerceApp) bool { return d.written.of(keyOf(app)).planned }

// Reported reports whether all of the clusters that are connected have a result about an application.
func (d *Dispatcher) Reported(app *v1.EcommerceApp, clusters []v1.ClusterStatus) bool {
	return !slices.ContainsFunc(clusters, func(c v1.ClusterStatus) bool {
		m := d.Get(c.Name)
		if m == nil {
			return false
		}
		_, known := m.reports.about(keyOf(app), app.UID)
		return !known
	})
}

// Written hands over an application as the API server returned it after a write that
// replaced a version. The queues work with it before the hub's cache has it.
func (d *Dispatcher) Written(app *v1.EcommerceApp, replaced string) {
	d.written.record(app, replaced, false)
}

// WrittenMetadata does as Written does after a write of metadata alone: a planned status is still to follow.
func (d *Dispatcher) WrittenMetadata(app *v1.EcommerceApp, replaced string) {
	d.written.record(app, replaced, true)
}

// Plan hands over an application with the status that it is about to get, and enqueues it as
// Dispatch does. Its stored metadata must list each member of the status, so that the copies are
// found again if that is never written.
func (d *Dispatcher) Plan(app *v1.EcommerceApp) {
	d.written.plan(app)
	d.Dispatch(app)
}

// EndPlan ends a plan: if the status was not written, the queues work with what is stored, and the
// next decision concerns all of them.
func (d *Dispatcher) EndPlan(app types.NamespacedName) {
	if d.written.endPlan(app) {
		d.decisions.forget(app)
	}
}

// DispatchEdit does as Dispatch does with an application whose next status is yet to be stored, if that
// changes no more than what the spec is: its copies need not wait for the write.
func (d *Dispatcher) DispatchEdit(app *v1.EcommerceApp, next v1.EcommerceAppStatus) {
	if keepsMembers(app, next) {
		d.Dispatch(app)
	}
}

// Dispatch enqueues an application in the queues of the members whose copies its stored
// status and spec change, and of those that are no longer among them. It costs nothing for
// the others.
func (d *Dispatcher) Dispatch(app *v1.EcommerceApp) {
	names := d.undecided.take(keyOf(app))
	for _, name := range d.decisions.replace(app, d.sources.signature(app)) {
		if names == nil {
			names = map[string]bool{}
		}
		names[name] = true
	}
	for name := range names {
		if m := d.Get(name); m != nil {
			m.queue.Add(requestFor(app))
		}
	}
}

// EntryOf returns the inventory's entry about a member, or nil.
func EntryOf(app *v1.EcommerceApp, member string) *v1.ClusterStatus {
	return app.Status.EntryOf(member)
}

// deletes reports whether the copy of an application is to be deleted where the entry says.
func deletes(app *v1.EcommerceApp, entry *v1.ClusterStatus) bool {
	return entry != nil && (app.Ending() || entry.Phase == v1.PhaseDeleting)
}

// keyOf returns the key of an application and of its copies.
func keyOf(app *v1.EcommerceApp) types.NamespacedName {
	return client.ObjectKeyFromObject(app)
}
