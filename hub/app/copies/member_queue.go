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

// Reconcile carries out the order about one application, or does what is due about a copy without one. The wait after a
// conflict grows while they repeat.
func (m *MemberQueue) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	err := m.reconcile(ctx, request)
	return retry.Reported(m.options.Waits, m.memory.CountConflict(request.NamespacedName, retry.HasConflict(err)), err)
}

// reconcile carries out the order about one application once, or does what is due without one, and records the result.
func (m *MemberQueue) reconcile(ctx context.Context, request reconcile.Request) error {
	key := request.NamespacedName
	decision := m.memory.Begin(key)
	if app := m.memory.Asked(key); app != "" {
		if err := m.lookUp(ctx, key, app); err != nil {
			m.memory.End(key, nil)
			return err
		}
	}
	if decision.Order(m.name) == nil {
		return m.leaveAlone(ctx, request, decision)
	}
	t := m.taskOf(decision)
	defer m.recordPanic(request, t)
	next, err := m.sync(ctx, t)
	select {
	case <-ctx.Done():
		return nil // The member was disconnected: the result is out of date.
	default:
	}
	if errors.Is(err, recovery.ErrUnobserved) {
		m.memory.End(key, nil)
		return nil
	}
	last, _ := m.memory.Result(key, t.App.UID)
	next.Follow(last, err, m.options.Clock.Now(), m.options.Waits.Scaled(state.LastingAfter))
	m.conclude(request, t, next)
	if next.Applied && !m.isPaused(t.App) {
		err = errors.Join(err, m.dropRecords(ctx, t.App))
	}
	return err
}

// leaveAlone does what is due about a copy without an order. A missing order or application never causes a deletion:
// such a copy keeps running, unless the application left a record of it when it was deleted. While the application is
// not decided, nothing is done about its copy.
func (m *MemberQueue) leaveAlone(ctx context.Context, request reconcile.Request, decision *state.Decision) error {
	key := request.NamespacedName
	if _, news := m.memory.End(key, nil); news {
		m.wake.Add(request)
	}
	m.memory.DropBeside(key)
	if decision == nil {
		if exists, err := m.awaitsDecision(ctx, key); exists || err != nil {
			return err
		}
		decision = &state.Decision{App: &v1.EcommerceApp{}}
	}
	return errors.Join(m.handOverCopy(ctx, key), m.cleanUp(ctx, key, m.taskOf(decision)))
}

// awaitsDecision reports whether an application without a Decision exists: its first pass is to come, or has come since,
// and wakes the queue.
func (m *MemberQueue) awaitsDecision(ctx context.Context, key types.NamespacedName) (bool, error) {
	forgotten := m.state.Forgotten()
	err := m.hub.Get(ctx, key, &v1.EcommerceApp{}, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the application: %w", err)
	}
	if err == nil && m.state.AwaitFirst(key, m.name, forgotten) {
		m.queue.Add(reconcile.Request{NamespacedName: key})
	}
	return err == nil, nil
}

// conclude records a result, and wakes who acts on it.
func (m *MemberQueue) conclude(request reconcile.Request, t *task, next state.Result) {
	propagates := next.Owner != nil && len(t.App.Spec.Propagate)+len(next.Owner.Leftover) > 0
	if next.Owner != nil && !propagates {
		m.memory.DropBeside(request.NamespacedName) // Before the result is observed.
	}
	if last, news := m.memory.End(request.NamespacedName, &next); news {
		m.recordEvents(t.App, last, next)
		m.wake.Add(request)
	}
	if propagates {
		m.beside.Add(request)
	}
}

// recordPanic records that the copy was not written or deleted because of a panic: without a
// result the application would wait for this member, and all its other members with it. The
// panic goes on to the queue, which logs it with its stack, counts it, and retries.
func (m *MemberQueue) recordPanic(request reconcile.Request, t *task) {
	if cause := recover(); cause != nil {
		next := t.result()
		next.Failure, next.Unknown = state.FailureOf(state.ErrPanicked), t.waiting
		m.conclude(request, t, next)
		panic(cause)
	}
}

// sync applies or deletes the copy, as the order demands.
func (m *MemberQueue) sync(ctx context.Context, t *task) (next state.Result, err error) {
	next = t.result()
	app := t.App
	var owner *state.Owner
	switch {
	case t.deletes() && m.isPaused(app):
		next.Pending, err = m.heldDeletion(ctx, app)
	case t.deletes():
		leaving := removal{key: keyOf(app), owned: owned(app), deletion: m.deletionOf(app), volumes: deletesVolumes(app)}
		if !app.Ending() {
			// The placement may be that of an older backup.
			leaving.check = func(live component.Resource) error {
				return m.assessCopy(ctx, t, live, nil)
			}
		}
		next.Gone, err = m.deleteCopy(ctx, leaving)
	default:
		owner, err = m.applyCopy(ctx, t, &next)
		next.Applied = err == nil && !m.paused
	}
	err = m.confirmUnknown(ctx, t, err)
	next.Failure = state.FailureOf(err)
	if next.Unknown = recovery.OriginAfter(err, t.waiting); err == nil && m.isPaused(app) {
		next.Unknown = t.waiting // Nothing was compared.
	}
	if err == nil || owner != nil && owner.Only != nil {
		next.Owner = owner
	}
	return next, err
}

// applyCopy applies the copy, and adds to the result what it held back or kept. It costs no request
// while nothing has changed. It returns the copy, or nil if objects must not be written beside it.
func (m *MemberQueue) applyCopy(ctx context.Context, t *task, next *state.Result) (*state.Owner, error) {
	app := t.App
	c, err := m.read(ctx, t)
	if c == nil {
		return nil, err
	}
	if err := m.assess(ctx, t, c, m.isPaused(app)); err != nil {
		return nil, err
	}
	c.intent, err = m.intentFor(app, *c.facts, c.live)
	switch {
	case err != nil:
		return m.refusedOwner(app, c.live, err), m.leaveCopy(ctx, app, c.live, err)
	case m.isPaused(app):
		next.Pending, err = m.holdCopy(ctx, app, c.intent, c.live)
		return m.ownerAfter(app, c.live, apply.Result{}), err
	}
	request, err := m.copyRequest(ctx, t, c)
	if err != nil {
		return nil, err
	}
	if c.live != nil {
		next.Kept = keptBy(app, c.intent)
	} else if err := m.ensureNamespace(ctx, app.Namespace); err != nil {
		return nil, err
	}
	result, err := m.applier.Apply(ctx, request)
	if err != nil {
		return m.refusedOwner(app, c.live, err), fmt.Errorf("writing the copy: %w", err)
	}
	m.recordWrite(ctx, app, result.Outcome)
	return m.ownerAfter(app, c.live, result), m.forgetDeletion(ctx, c.former)
}

// forgetDeletion removes a deletion of the copy from the record, as the copy exists again: the user
// approved it, or the application came back. If the copy is missing later, it is created again.
func (m *MemberQueue) forgetDeletion(ctx context.Context, former members.Deletion) error {
	if former.At.IsZero() && former.Left == 0 {
		return nil
	}
	if err := m.record().Forget(ctx, former); err != nil {
		return fmt.Errorf("removing the recorded deletion: %w", err)
	}
	return nil
}

// record returns the member's record.
func (m *MemberQueue) record() Record { return m.options.Record(m.name) }

// deleted reports whether the member has recorded the deletion of an application.
func (m *MemberQueue) deleted(app types.UID) bool { return !m.record().DeletedAt(app).IsZero() }

// deletionOf returns the deletion of an application, or of its copy in the member alone if the
// application goes on. That of an application has the same time in all members and attempts, so
// that one approval covers it, and no later one.
func (m *MemberQueue) deletionOf(app *v1.EcommerceApp) members.Deletion {
	if app.Ending() {
		return members.Deletion{App: app.UID, At: app.DeletionTimestamp.Time}
	}
	return members.Deletion{App: app.UID, Left: app.Generation, At: m.options.Clock.Now()}
}

// wasDeleted reports whether an application was deleted, according to the member or to what it
// left behind there.
func (m *MemberQueue) wasDeleted(ctx context.Context, app types.UID) bool {
	// The cache fails only when the process ends.
	left, err := m.options.Residue.List(ctx, m.name)
	return m.deleted(app) || err == nil && slices.ContainsFunc(left, func(r recovery.Residue) bool { return r.App == app && r.Copy == "" })
}

// handOverCopy hands over a copy that has no entry: without a reconciler it would not be
// repaired, and would keep its finalizer when it is deleted.
func (m *MemberQueue) handOverCopy(ctx context.Context, key types.NamespacedName) error {
	live := &v1.EcommerceApp{}
	err := m.cluster.GetClient().Get(ctx, key, live)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return m.setManagedByMode(ctx, live)
}

// setManagedByMode records in a copy which process reconciles it, and changes nothing else. It costs no
// request if that is recorded already.
func (m *MemberQueue) setManagedByMode(ctx context.Context, live *v1.EcommerceApp) error {
	if m.paused || !live.IsCopy() || live.ManagedByMode() == m.managedBy {
		return nil
	}
	next := live.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[v1.ManagedByModeAnnotation] = string(m.managedBy)
	ctx, cancel := context.WithTimeout(ctx, m.options.CallTimeout)
	defer cancel()
	lock := retry.MergeFromLocked(live)
	if err := m.cluster.GetClient().Patch(ctx, next, lock, client.FieldOwner(v1.HubFieldManager)); client.IgnoreNotFound(err) != nil {
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
func (m *MemberQueue) deleteCopy(ctx context.Context, r removal) (gone bool, err error) {
	if m.paused { // Before the deletion is recorded.
		return false, apierror.ErrPaused
	}
	live, err := m.readCertainly(ctx, r.key)
	if err != nil {
		return false, err
	}
	absent := live == nil || !r.owned(live)
	present := !absent && live.DeletionTimestamp == nil
	if present && r.check != nil {
		if err := r.check(live); err != nil {
			return false, err
		}
	}
	if r.deletion.App != "" && (present || r.deletion.Left == 0) {
		// Before the copy is deleted: a hub that is restored from an older backup must not
		// create it again. It would also do so if a user had deleted the copy or its namespace.
		if err := m.record().Delete(ctx, r.deletion); err != nil {
			return false, fmt.Errorf("recording the deletion: %w", err)
		}
	}
	switch {
	case absent:
		return true, nil
	case !present:
		// The mode may have changed, and with it the process that cleans up.
		return false, m.setManagedByMode(ctx, live)
	}
	if r.volumes {
		if err := m.askForVolumes(ctx, live); err != nil {
			return false, err
		}
	}
	if err := m.applier.Delete(ctx, live, metav1.DeletePropagationBackground); err != nil {
		return false, fmt.Errorf("deleting the copy: %w", err)
	}
	return false, nil
}

// readCertainly returns a copy; nil if there is none. A cache may be behind: only the API server can confirm an absence.
func (m *MemberQueue) readCertainly(ctx context.Context, key client.ObjectKey) (*v1.EcommerceApp, error) {
	live := &v1.EcommerceApp{}
	err := m.cluster.GetClient().Get(ctx, key, live)
	switch {
	case apierrors.IsNotFound(err):
		return m.ask(ctx, key)
	case err != nil:
		return nil, fmt.Errorf("reading the copy: %w", err)
	}
	return live, nil
}

// ask returns a copy by a request to the API server; nil if there is none.
func (m *MemberQueue) ask(ctx context.Context, key client.ObjectKey) (*v1.EcommerceApp, error) {
	ctx, cancel := context.WithTimeout(ctx, m.options.CallTimeout)
	defer cancel()
	live := &v1.EcommerceApp{}
	err := m.cluster.GetAPIReader().Get(ctx, key, live)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the copy: %w", err)
	}
	return live, nil
}

// deletesVolumes reports whether the volumes of an application's database are deleted with its copies: not
// when it leaves a cluster, to which it may return.
func deletesVolumes(app *v1.EcommerceApp) bool {
	return app.Ending() && app.Spec.Deletion.Volumes == v1.DeletionDelete
}

// askForVolumes annotates a copy that is about to be deleted so that the volumes of its database are deleted
// too. A copy that is deleted in the member by others has no such annotation. The copy becomes the one that
// was written.
func (m *MemberQueue) askForVolumes(ctx context.Context, live *v1.EcommerceApp) error {
	if live.Annotations[v1.DeleteVolumesAnnotation] == "true" {
		return nil
	}
	before := live.DeepCopy()
	metav1.SetMetaDataAnnotation(&live.ObjectMeta, v1.DeleteVolumesAnnotation, "true")
	ctx, cancel := context.WithTimeout(ctx, m.options.CallTimeout)
	defer cancel()
	lock := retry.MergeFromLocked(before)
	if err := m.cluster.GetClient().Patch(ctx, live, lock, client.FieldOwner(v1.HubFieldManager)); err != nil {
		return fmt.Errorf("asking for the deletion of the volumes: %w", err)
	}
	return nil
}
