package propagate

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// Member is a connection to a member.
type Member struct {
	Name      string
	ManagedBy v1.ManagedByMode
	Memory    *state.Member
	Applier   *apply.Applier
	// Queue gets the applications whose copy was written, found as it should be or refused, and Copies is the queue that does so.
	Queue, Copies *controller.Queue
}

// MemberQueue writes and deletes what is propagated to one member. It is safe for concurrent use.
type MemberQueue struct {
	Member
	dispatcher *Dispatcher
	cluster    cluster.Cluster
}

// Reconcile writes the objects that an application propagates beside its copy in the member, and deletes those that it no
// longer does, once the copy is as the present order says: it lists them. Beside a copy that is refused, only those that it
// lists are written. It costs no request while nothing has changed.
// What cannot be read on the hub stays as it is in the member.
func (q *MemberQueue) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	decision, owner := q.Memory.Owner(key)
	if owner == nil {
		return reconcile.Result{}, nil // The next result about the copy comes here.
	}
	p := q.passOver(decision, owner)
	defer q.recordPanic(p)
	problems := p.run(ctx, decision, owner)
	select {
	case <-ctx.Done():
		return reconcile.Result{}, nil // The member was disconnected: the result is out of date.
	default:
	}
	conflicts := q.conclude(p, errors.Join(problems...))
	if p.pruned {
		q.Copies.Add(request) // The copy lists them until it is written again.
	}
	return retry.Reported(q.dispatcher.Waits, conflicts, errors.Join(append(problems, p.unread)...))
}

// recordPanic records that objects were not written because of a panic, which goes on to the queue: that logs, counts and
// retries it.
func (q *MemberQueue) recordPanic(p *pass) {
	if cause := recover(); cause != nil {
		q.conclude(p, state.ErrPanicked)
		panic(cause)
	}
}

// passOver returns a pass over what is beside a copy.
func (q *MemberQueue) passOver(d *state.Decision, owner *state.Owner) *pass {
	copied := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.App.Namespace, Name: d.App.Name, UID: owner.UID, Labels: map[string]string{v1.ClusterLabel: q.Name},
	}}
	p := &pass{MemberQueue: q, app: d.App, order: d.Order(q.Name), copied: copied, readOnly: owner.ReadOnly}
	var compared bool
	p.done, compared = q.Memory.Beside(client.ObjectKeyFromObject(d.App), owner.UID, d.App.Annotations[v1.ReconcileAtAnnotation])
	p.created = owner.Created && !compared
	return p
}

// conclude records the result of a pass, and returns how many in a row ended in a conflict.
func (q *MemberQueue) conclude(p *pass, err error) (conflicts int) {
	key := client.ObjectKeyFromObject(p.app)
	last := q.Memory.BesideResult(key, p.app.UID)
	next := state.Result{App: p.app.UID, Hash: p.order.Hash, Revision: p.order.Revision, Failure: state.FailureOf(err), Pending: p.pending}
	next.Follow(last, err, q.dispatcher.Clock.Now(), q.dispatcher.Waits.Scaled(state.LastingAfter))
	conflicts, news := q.Memory.EndBeside(key, p.done, next, retry.HasConflict(err))
	if news {
		q.dispatcher.Wake.Add(reconcile.Request{NamespacedName: key})
	}
	if f := next.Failure; news && f != nil && (last.Failure == nil || last.Failure.Reason != f.Reason) {
		member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: q.Name}}
		q.dispatcher.Recorder.Eventf(p.app, member, corev1.EventTypeWarning, f.Reason, "Propagate", "%s: %s", q.Name, f.Message)
	}
	return conflicts
}

// objects returns a source that wakes the queue when an object that was written beside a copy
// changes in the member. It watches what the reconciler of copies watches, with our label and without
// content. With an agent there is nothing to watch: the hub may not list Secrets there.
func (q *MemberQueue) objects() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if q.ManagedBy != v1.ManagedByHub {
			return nil
		}
		for _, kind := range []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}} {
			informer, err := q.cluster.GetCache().GetInformer(ctx, kind)
			if err != nil {
				return fmt.Errorf("watching propagated objects: %w", err)
			}
			if _, err := informer.AddEventHandler(q.onChange(ctx, queue)); err != nil {
				return fmt.Errorf("watching propagated objects: %w", err)
			}
		}
		return nil
	})
}

// onChange returns a handler that enqueues the applications whose object is not as they wrote it,
// until ctx is done: the cache outlives the queue for a moment.
func (q *MemberQueue) onChange(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) toolscache.ResourceEventHandler {
	// The owners of before are woken: it may have lost them.
	see := func(before, after any) {
		object, ok := before.(Object)
		if !ok || ctx.Err() != nil || !isOurs(object) {
			return
		}
		version := state.Deleted
		if next, exists := after.(Object); exists {
			version = next.GetResourceVersion()
		}
		for _, key := range q.see(object, version) {
			queue.Add(reconcile.Request{NamespacedName: key})
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { see(o, o) },
		UpdateFunc: func(before, after any) {
			see(before, after)
			see(after, after)
		},
		DeleteFunc: func(o any) {
			if tombstone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			see(o, nil)
		},
	}
}

// see records the resource version of an object, and returns the applications that wrote another one.
// Its owners are those of the given object.
func (q *MemberQueue) see(object Object, version string) []types.NamespacedName {
	var concerned []types.NamespacedName
	for _, owner := range owners(object) {
		key := types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name}
		if q.Memory.SeeBeside(key, refOf(object), version) {
			concerned = append(concerned, key)
		}
	}
	return concerned
}
