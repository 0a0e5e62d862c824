package propagate

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

const (
	// sourcePeriod is the time after which the sources of an application are read again, and
	// problemPeriod that after which they are if one of them cannot be copied. A watch would take the
	// permission to list all Secrets of a namespace.
	sourcePeriod  = 5 * time.Minute
	problemPeriod = time.Minute
	sourceJitter  = 0.3
)

// content reads a source for a member that lacks its present content, and records the version that is read. The object is
// nil unless it may be copied.
func (d *Dispatcher) content(ctx context.Context, app *v1.EcommerceApp, object v1.PropagatedObject) (state.Source, Object) {
	ctx, cancel := context.WithTimeout(ctx, d.CallTimeout)
	defer cancel()
	key := client.ObjectKeyFromObject(app)
	found, content := d.readOne(ctx, app.Namespace, object)
	if found.Reason != v1.ReasonNotChecked && d.State.ReplaceSource(key, app.UID, found) {
		d.follow(key)
	}
	if !found.IsReadable() {
		return found, nil
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
		if found.Reason == v1.ReasonNotChecked {
			if last, known := former.Of(object); known {
				found = last
			}
			period = problemPeriod
		}
		if !found.IsReadable() {
			period = problemPeriod
		}
		next.All = append(next.All, found)
	}
	next.Due = d.Clock.Now().Add(wait.Jitter(d.Waits.Scaled(period), sourceJitter))
	return next
}

// readOne reads one source. It returns no object if the API server does not respond.
func (d *Dispatcher) readOne(ctx context.Context, namespace string, object v1.PropagatedObject) (state.Source, Object) {
	source := empty(object.Kind)
	err := d.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: object.Name}, source)
	found := sourceOf(object, source, err)
	if found.Reason == v1.ReasonNotChecked {
		log.FromContext(ctx).Error(err, "Cannot read what an application propagates", "kind", object.Kind, "object", object.Name)
	}
	if err != nil {
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
		return next
	case apierrors.IsForbidden(err):
		next.Reason = v1.ReasonForbidden
		return next
	case err != nil:
		next.Reason = v1.ReasonNotChecked
		return next
	}
	if next.Message = refused(source); next.Message != "" {
		next.Reason = v1.ReasonInvalidSpec
		return next
	}
	if next.Version, err = versionOf(source); err != nil {
		next.Reason = v1.ReasonNotChecked
	}
	return next
}
