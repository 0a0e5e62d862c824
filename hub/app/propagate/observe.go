package propagate

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Observe records which objects the clusters of an application need: those that its spec lists, and the revisions that
// clusters have. It returns the condition Propagated by what was read of them last, nil if there are none, and whether some
// of them were not read yet. They are about to be read if that is due.
func (d *Dispatcher) Observe(ctx context.Context, app *v1.EcommerceApp) (condition *metav1.Condition, unread bool, err error) {
	if app.Ending() || d.APIReader == nil {
		return nil, false, nil
	}
	listed, err := d.Revisions.Propagated(ctx, app)
	sources := d.State.ListSources(client.ObjectKeyFromObject(app), app.UID, listed, err != nil)
	if len(listed) > 0 && sources.IsDue(app, d.Clock.Now()) {
		d.reads.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)})
	}
	read, all := sources.Read()
	return conditionOf(app.Namespace, read), !all, err
}

// readSources reads the sources of an application if that is due, and wakes who follows them if they have changed.
func (d *Dispatcher) readSources(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	app := &v1.EcommerceApp{}
	if err := d.hub.Get(ctx, request.NamespacedName, app, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	known := d.State.Sources(request.NamespacedName, app.UID)
	if app.Ending() || len(known.Listed) == 0 {
		return reconcile.Result{}, nil
	}
	if known.IsDue(app, d.Clock.Now()) {
		next := d.read(ctx, app, known)
		if d.State.SetSources(request.NamespacedName, next) {
			d.follow(request.NamespacedName)
		}
		known = next
	}
	return reconcile.Result{RequeueAfter: max(known.Due.Sub(d.Clock.Now()), time.Millisecond)}, nil
}
