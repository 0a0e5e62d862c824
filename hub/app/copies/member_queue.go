package copies

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// MemberQueue writes and deletes the copies in one member as Decisions order. It is safe for
// concurrent use.
type MemberQueue struct {
	name      string
	managedBy v1.ManagedByMode
	options   Options
	hub       client.Reader
	cluster   cluster.Cluster
	applier   *apply.Applier
	wake      *controller.Queue
	queue     *controller.Queue
	// state is the Dispatcher's, and memory the part that ends with the connection.
	state  *state.State
	memory *state.Member
	// peer returns the queue of a connected member, or nil.
	peer func(member string) *MemberQueue
	// paused means that nothing is written in the member.
	paused bool
	// beside is the queue of what is propagated to the member.
	beside *controller.Queue
}

// errPanicked means that writing or deleting a copy panicked.
var errPanicked = errors.New("reconciling panicked")

// Reconcile carries out the order about one application, and records the result.
func (l *MemberQueue) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	decision := l.memory.Begin(key)
	if app := l.memory.Asked(key); app != "" {
		if err := l.lookUp(ctx, key, app); err != nil {
			l.memory.End(key, nil)
			return l.retry(key, err)
		}
	}
	if decision.Order(l.name) == nil {
		return l.retry(key, l.leaveAlone(ctx, request, decision))
	}
	t := l.taskOf(decision)
	defer l.recordPanic(request, t)
	next, err := l.sync(ctx, t)
	select {
	case <-ctx.Done():
		// The member was disconnected: the result is out of date.
		return reconcile.Result{}, nil
	default:
	}
	if errors.Is(err, recovery.ErrUndecided) {
		l.memory.End(key, nil)
		return reconcile.Result{}, nil
	}
	last, _ := l.memory.Result(key, t.App.UID)
	next.Follow(last, err, l.options.Clock.Now(), l.options.Waits.Scaled(state.LastingAfter))
	l.conclude(request, t, next)
	if next.Applied && !l.holds(t.App) {
		err = errors.Join(err, l.dropRecords(ctx, t.App))
	}
	return l.retry(key, err)
}

// retry returns what Reconcile returns for an error that the result of the queue says.
func (l *MemberQueue) retry(key types.NamespacedName, err error) (reconcile.Result, error) {
	return retry.Reported(l.options.Waits, l.memory.CountConflict(key, retry.HasConflict(err)), err)
}

// leaveAlone does what is due about a copy without an order. A missing order or application never causes a deletion:
// such a copy keeps running, unless the application left a record of it when it was deleted. While the application is
// not decided, nothing is done about its copy.
func (l *MemberQueue) leaveAlone(ctx context.Context, request reconcile.Request, decision *state.Decision) error {
	key := request.NamespacedName
	if _, news := l.memory.End(key, nil); news {
		l.wake.Add(request)
	}
	l.memory.DropBeside(key)
	if decision == nil {
		if exists, err := l.awaitsDecision(ctx, key); exists || err != nil {
			return err
		}
		decision = &state.Decision{App: &v1.EcommerceApp{}}
	}
	return errors.Join(l.keepCopy(ctx, key), l.cleanUp(ctx, key, l.taskOf(decision)))
}

// awaitsDecision reports whether an application without a Decision exists: its first pass is to come, or has come since,
// and wakes the queue.
func (l *MemberQueue) awaitsDecision(ctx context.Context, key types.NamespacedName) (bool, error) {
	err := l.hub.Get(ctx, key, &v1.EcommerceApp{}, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the application: %w", err)
	}
	if err == nil && l.state.AwaitFirst(key, l.name) {
		l.queue.Add(reconcile.Request{NamespacedName: key})
	}
	return err == nil, nil
}

// conclude records a result, and wakes who acts on it.
func (l *MemberQueue) conclude(request reconcile.Request, t *task, next state.Result) {
	if last, news := l.memory.End(request.NamespacedName, &next); news {
		l.recordEvents(t.App, last, next)
		l.wake.Add(request)
	}
	switch {
	case next.Owner == nil:
	case len(t.App.Spec.Propagate)+len(next.Owner.Leftover) > 0:
		l.beside.Add(request)
	default:
		l.memory.DropBeside(request.NamespacedName)
	}
}

// recordPanic records that the copy was not written or deleted because of a panic: without a
// result the application would wait for this member, and all its other members with it. The
// panic goes on to the queue, which logs it with its stack, counts it, and retries.
func (l *MemberQueue) recordPanic(request reconcile.Request, t *task) {
	if cause := recover(); cause != nil {
		next := t.result()
		next.Failure, next.Unknown = state.FailureOf(errPanicked), t.waiting
		l.conclude(request, t, next)
		panic(cause)
	}
}

// sync applies or deletes the copy, as the order demands.
func (l *MemberQueue) sync(ctx context.Context, t *task) (next state.Result, err error) {
	next = t.result()
	app := t.App
	var owner *state.Owner
	switch {
	case t.deletes() && l.holds(app):
		next.Pending, err = l.heldDeletion(ctx, app)
	case t.deletes():
		leaving := removal{key: keyOf(app), owned: owned(app), deletion: l.deletionOf(app), volumes: deletesVolumes(app)}
		if !app.Ending() {
			// The placement may be that of an older backup.
			leaving.check = func(live component.Resource) error {
				return l.assessCopy(ctx, t, live, nil)
			}
		}
		next.Gone, err = l.deleteCopy(ctx, leaving)
	default:
		owner, err = l.applyCopy(ctx, t, &next)
		next.Applied = err == nil && !l.paused
	}
	err = l.confirmUnknown(ctx, t, err)
	next.Failure = state.FailureOf(err)
	if next.Unknown = recovery.OriginAfter(err, t.waiting); err == nil && l.holds(app) {
		next.Unknown = t.waiting // Nothing was compared.
	}
	if err == nil {
		next.Owner = owner
	}
	return next, err
}

// applyCopy applies the copy, and adds to the result what it held back or kept. It costs no request
// while nothing has changed. It returns the copy, or nil if objects must not be written beside it.
func (l *MemberQueue) applyCopy(ctx context.Context, t *task, next *state.Result) (*state.Owner, error) {
	app := t.App
	c, err := l.read(ctx, t)
	if c == nil {
		return nil, err
	}
	if err := l.assess(ctx, t, c, l.holds(app)); err != nil {
		return nil, err
	}
	c.intent, err = l.intentFor(app, *c.facts, c.live)
	switch {
	case err != nil:
		return nil, l.leaveCopy(ctx, app, c.live, err)
	case l.holds(app):
		next.Pending, err = l.holdCopy(ctx, app, c.intent, c.live)
		return l.ownerAfter(app, c.live, apply.Result{}), err
	}
	request, err := l.copyRequest(ctx, t, c)
	if err != nil {
		return nil, err
	}
	if c.live != nil {
		next.Kept = keptBy(app, c.intent)
	} else if err := l.ensureNamespace(ctx, app.Namespace); err != nil {
		return nil, err
	}
	result, err := l.applier.Apply(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("writing the copy: %w", err)
	}
	l.recordWrite(ctx, app, result.Outcome)
	return l.ownerAfter(app, c.live, result), l.forgetDeletion(ctx, c.former)
}

// forgetDeletion removes a deletion of the copy from the record, as the copy exists again: the user
// approved it, or the application came back. If the copy is missing later, it is created again.
func (l *MemberQueue) forgetDeletion(ctx context.Context, former members.Deletion) error {
	if former.At.IsZero() && former.Left == 0 {
		return nil
	}
	if err := l.record().Forget(ctx, former); err != nil {
		return fmt.Errorf("removing the recorded deletion: %w", err)
	}
	return nil
}

// record returns the member's record.
func (l *MemberQueue) record() Record { return l.options.Record(l.name) }

// deleted reports whether the member has recorded the deletion of an application.
func (l *MemberQueue) deleted(app types.UID) bool { return !l.record().DeletedAt(app).IsZero() }

// deletionOf returns the deletion of an application, or of its copy in the member alone if the
// application goes on. That of an application has the same time in all members and attempts, so
// that one approval covers it, and no later one.
func (l *MemberQueue) deletionOf(app *v1.EcommerceApp) members.Deletion {
	if app.Ending() {
		return members.Deletion{App: app.UID, At: app.DeletionTimestamp.Time}
	}
	return members.Deletion{App: app.UID, Left: app.Generation, At: l.options.Clock.Now()}
}

// wasDeleted reports whether an application was deleted, according to the member or to what it
// left behind there.
func (l *MemberQueue) wasDeleted(ctx context.Context, app types.UID) bool {
	// The cache fails only when the process ends.
	left, err := l.options.Residue.List(ctx, l.name)
	return l.deleted(app) || err == nil && slices.ContainsFunc(left, func(r recovery.Record) bool { return r.App == app && r.Copy == "" })
}

// facts returns the facts about the member from the hub's cache, with the revision that an application is
// to have there; nil while the member leaves the fleet.
func (l *MemberQueue) facts(ctx context.Context, t *task) (*MemberFacts, error) {
	member := &v1.MemberCluster{}
	if err := l.hub.Get(ctx, client.ObjectKey{Name: l.name}, member); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading the member: %w", err)
	}
	// A copy must not change because the status of the member was lost.
	member = member.Located(t.entry())
	facts := &MemberFacts{
		cluster: l.name, managedBy: l.managedBy, region: member.Status.Region, provider: member.Status.Provider, member: member, order: t.order,
	}
	return facts, l.addSpec(ctx, t, facts)
}

// keepCopy hands over a copy that has no entry: without a reconciler it would not be
// repaired, and would keep its finalizer when it is deleted.
func (l *MemberQueue) keepCopy(ctx context.Context, key types.NamespacedName) error {
	live := &v1.EcommerceApp{}
	err := l.cluster.GetClient().Get(ctx, key, live)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return l.setManagedByMode(ctx, live)
}

// setManagedByMode records in a copy which process reconciles it, and changes nothing else. It costs no
// request if that is recorded already.
func (l *MemberQueue) setManagedByMode(ctx context.Context, live *v1.EcommerceApp) error {
	if l.paused || !live.IsCopy() || live.ManagedByMode() == l.managedBy {
		return nil
	}
	next := live.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[v1.ManagedByModeAnnotation] = string(l.managedBy)
	ctx, cancel := context.WithTimeout(ctx, l.options.CallTimeout)
	defer cancel()
	lock := retry.MergeFromLocked(live)
	if err := l.cluster.GetClient().Patch(ctx, next, lock, client.FieldOwner(v1.HubFieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("handing the copy over: %w", err)
	}
	return nil
}

// removal is the end of an application's copy in a member.
type removal struct {
	key   types.NamespacedName
	owned func(component.Resource) bool
	// check returns an error if an owned copy must stay. May be nil.
	check func(component.Resource) error
	// deletion is recorded before, unless its application is unknown. That of an application is
	// recorded although the copy is gone, or is being deleted.
	deletion members.Deletion
	// volumes is true if the volumes of the database are deleted with the copy.
	volumes bool
}

// deleteCopy deletes a copy if it is owned, and reports whether it is confirmed gone. The
// copy's finalizer holds it until the member is clean; the watch reports its end.
func (l *MemberQueue) deleteCopy(ctx context.Context, r removal) (gone bool, err error) {
	if l.paused { // Before the deletion is recorded.
		return false, apierror.ErrPaused
	}
	live, found, err := l.readCertainly(ctx, r.key)
	if err != nil {
		return false, err
	}
	absent := !found || !r.owned(live)
	present := !absent && live.DeletionTimestamp == nil
	if present && r.check != nil {
		if err := r.check(live); err != nil {
			return false, err
		}
	}
	if r.deletion.App != "" && (present || r.deletion.Left == 0) {
		// Before the copy is deleted: a hub that is restored from an older backup must not
		// create it again. It would also do so if a user had deleted the copy or its namespace.
		if err := l.record().Delete(ctx, r.deletion); err != nil {
			return false, fmt.Errorf("recording the deletion: %w", err)
		}
	}
	switch {
	case absent:
		return true, nil
	case !present:
		// The mode may have changed, and with it the process that cleans up.
		return false, l.setManagedByMode(ctx, live)
	}
	if r.volumes {
		if err := l.askForVolumes(ctx, live); err != nil {
			return false, err
		}
	}
	if err := l.applier.Delete(ctx, live, metav1.DeletePropagationBackground); err != nil {
		return false, fmt.Errorf("deleting the copy: %w", err)
	}
	return false, nil
}

// readCertainly reads a copy, and reports whether there is one. A cache may be behind: only the API server can confirm an
// absence.
func (l *MemberQueue) readCertainly(ctx context.Context, key client.ObjectKey) (live *v1.EcommerceApp, found bool, err error) {
	live = &v1.EcommerceApp{}
	err = l.cluster.GetClient().Get(ctx, key, live)
	if apierrors.IsNotFound(err) {
		call, cancel := context.WithTimeout(ctx, l.options.CallTimeout)
		defer cancel()
		err = l.cluster.GetAPIReader().Get(call, key, live)
	}
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading the copy: %w", err)
	}
	return live, true, nil
}

// deletesVolumes reports whether the volumes of an application's database are deleted with its copies: not
// when it leaves a cluster, to which it may return.
func deletesVolumes(app *v1.EcommerceApp) bool {
	return app.Ending() && app.Spec.Deletion.Volumes == v1.DeletionDelete
}

// askForVolumes annotates a copy that is about to be deleted so that the volumes of its database are deleted
// too. A copy that is deleted in the member by others has no such annotation. The copy becomes the one that
// was written.
func (l *MemberQueue) askForVolumes(ctx context.Context, live *v1.EcommerceApp) error {
	if live.Annotations[v1.DeleteVolumesAnnotation] == "true" {
		return nil
	}
	before := live.DeepCopy()
	metav1.SetMetaDataAnnotation(&live.ObjectMeta, v1.DeleteVolumesAnnotation, "true")
	ctx, cancel := context.WithTimeout(ctx, l.options.CallTimeout)
	defer cancel()
	lock := retry.MergeFromLocked(before)
	if err := l.cluster.GetClient().Patch(ctx, live, lock, client.FieldOwner(v1.HubFieldManager)); err != nil {
		return fmt.Errorf("asking for the deletion of the volumes: %w", err)
	}
	return nil
}
