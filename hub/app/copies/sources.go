package copies

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
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

// sources reads the objects that applications propagate, from the hub's API server.
type sources struct{ options Options }

// current returns the objects that are listed for an application. They are read now if that is due, or was asked for by
// an edit or by v1.ReconcileAtAnnotation.
func (s sources) current(ctx context.Context, app *v1.EcommerceApp, listed []v1.PropagatedObject) state.Sources {
	known := s.options.State.Sources(keyOf(app), app.UID)
	if known.Generation != app.Generation || known.ReconcileAt != app.Annotations[v1.ReconcileAtAnnotation] ||
		!s.options.Clock.Now().Before(known.Due) || !slices.Equal(known.Objects(), listed) {
		known = s.read(ctx, app, listed)
	}
	return known
}

// content reads a source for a member that lacks its present content, and records the version that is read. The object is
// nil unless it may be copied.
func (s sources) content(ctx context.Context, app *v1.EcommerceApp, object v1.PropagatedObject) (propagate.Source, propagate.Object) {
	ctx, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	found, content := s.readOne(ctx, app.Namespace, object)
	if found.Reason != v1.ReasonNotChecked {
		s.options.State.ReplaceSource(keyOf(app), app.UID, found)
	}
	if !found.IsReadable() {
		return found, nil
	}
	return found, content
}

// read reads the sources of an application, one after the other. What cannot be read because the API
// server does not respond stays as it was.
func (s sources) read(ctx context.Context, app *v1.EcommerceApp, listed []v1.PropagatedObject) state.Sources {
	ctx, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	former := s.options.State.Sources(keyOf(app), app.UID)
	next := state.Sources{App: app.UID, Generation: app.Generation, ReconcileAt: app.Annotations[v1.ReconcileAtAnnotation]}
	period := sourcePeriod
	for _, object := range listed {
		found, _ := s.readOne(ctx, app.Namespace, object)
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
	next.Due = s.options.Clock.Now().Add(wait.Jitter(s.options.Waits.Scaled(period), sourceJitter))
	return next
}

// readOne reads one source. It returns no object if the API server does not respond.
func (s sources) readOne(ctx context.Context, namespace string, object v1.PropagatedObject) (propagate.Source, propagate.Object) {
	source := propagate.New(object.Kind)
	err := s.options.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: object.Name}, source)
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
func sourceOf(object v1.PropagatedObject, source propagate.Object, err error) propagate.Source {
	next := propagate.Source{PropagatedObject: object}
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
	if next.Message = propagate.Refused(source); next.Message != "" {
		next.Reason = v1.ReasonInvalidSpec
		return next
	}
	if next.Version, err = propagate.Version(source); err != nil {
		next.Reason = v1.ReasonNotChecked
	}
	return next
}

// ReadSources reads the objects that an application propagates, if that is due, from the hub's API
// server: those that its spec lists, and the revisions that clusters have. It returns the condition Propagated, nil if
// there are none, and when it is to be called again.
func (d *Dispatcher) ReadSources(ctx context.Context, app *v1.EcommerceApp) (*metav1.Condition, time.Time, error) {
	if app.Ending() || d.options.APIReader == nil {
		return nil, time.Time{}, nil
	}
	listed, err := d.options.Revisions.Propagated(ctx, app)
	if len(listed) == 0 && err == nil {
		d.state.SetSources(keyOf(app), state.Sources{})
		return nil, time.Time{}, nil
	}
	known := d.sources.current(ctx, app, listed)
	known.Partial = err != nil
	d.state.SetSources(keyOf(app), known)
	return propagate.Condition(app.Namespace, known.All), known.Due, err
}
