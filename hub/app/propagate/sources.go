package propagate

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// sourcePeriod is the time after which the sources of an application are read again, and
	// problemPeriod that after which they are if one of them cannot be copied. A watch would take the
	// permission to list all Secrets of a namespace.
	sourcePeriod  = 5 * time.Minute
	problemPeriod = time.Minute
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

// content reads a source for a member that lacks its present content, and records what was read.
func (d *Dispatcher) content(ctx context.Context, app *v1.EcommerceApp, object v1.PropagatedObject) (state.Source, Object) {
	ctx, cancel := context.WithTimeout(ctx, d.CallTimeout)
	defer cancel()
	key := client.ObjectKeyFromObject(app)
	found, content := d.readOne(ctx, app.Namespace, object)
	if found.Reason != v1.ReasonNotChecked && d.State.ReplaceSource(key, app.UID, found) {
		d.follow(key)
	}
	return found, content
}

// read reads the sources of an application, one after the other. What cannot be read because the API
// server does not respond stays as it was.
func (d *Dispatcher) read(ctx context.Context, app *v1.EcommerceApp, former state.Sources) state.Sources {
	ctx, cancel := context.WithTimeout(ctx, d.CallTimeout)
	defer cancel()
	next := state.Sources{App: app.UID, Listed: former.Listed, Generation: app.Generation, ReconcileAt: app.Annotations[v1.ReconcileAtAnnotation]}
	period := sourcePeriod
	for _, object := range former.Listed {
		found, _ := d.readOne(ctx, app.Namespace, object)
		if !found.IsReadable() {
			period = problemPeriod
		}
		if last, known := former.Of(object); known && found.Reason == v1.ReasonNotChecked {
			found = last
		}
		next.All = append(next.All, found)
	}
	next.Due = d.Clock.Now().Add(retry.Jitter(d.Waits.Scaled(period)))
	return next
}

// readOne reads one source. The object is nil unless it may be copied.
func (d *Dispatcher) readOne(ctx context.Context, namespace string, object v1.PropagatedObject) (state.Source, Object) {
	source := empty(object.Kind)
	err := d.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: object.Name}, source)
	found := sourceOf(object, source, err)
	if found.Reason == v1.ReasonNotChecked {
		log.FromContext(ctx).Error(err, "Cannot read what an application propagates", "kind", object.Kind, "object", object.Name)
	}
	if !found.IsReadable() {
		return found, nil
	}
	return found, source
}

// sourceOf returns the result of a read.
func sourceOf(object v1.PropagatedObject, source Object, err error) state.Source {
	next := state.Source{PropagatedObject: object}
	switch {
	case apierrors.IsNotFound(err):
		next.Reason = v1.ReasonMissing
	case apierrors.IsForbidden(err):
		next.Reason = v1.ReasonForbidden
	case err != nil:
		next.Reason = v1.ReasonNotChecked
	default:
		if next.Message = refused(source); next.Message != "" {
			next.Reason = v1.ReasonInvalidSpec
		} else if next.Version, err = versionOf(source); err != nil {
			next.Reason = v1.ReasonNotChecked
		}
	}
	return next
}
