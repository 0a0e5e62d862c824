package copies

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
)

const (
	// sourcePeriod is the time after which the sources of an application are read again, and
	// problemPeriod that after which they are if one of them cannot be copied. A watch would take the
	// permission to list all Secrets of a namespace.
	sourcePeriod  = 5 * time.Minute
	problemPeriod = time.Minute
	sourceJitter  = 0.3
)

// sources are the objects that applications propagate, as they were read from the hub's API server: their
// versions, by which members are compared, and not their content. It is safe for concurrent use.
type sources struct {
	options Options

	mu    sync.Mutex
	known map[types.NamespacedName]*sourcesOfApp
}

// sourcesOfApp are those of one application.
type sourcesOfApp struct {
	reading sync.Mutex // Held while the API server is asked.

	mu          sync.Mutex
	app         types.UID
	generation  int64
	reconcileAt string
	due         time.Time
	all         []propagate.Source
}

func newSources(o Options) *sources {
	return &sources{options: o, known: map[types.NamespacedName]*sourcesOfApp{}}
}

func (s *sources) of(key types.NamespacedName) *sourcesOfApp {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[key] == nil {
		s.known[key] = &sourcesOfApp{}
	}
	return s.known[key]
}

func (s *sources) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, key)
}

// current returns the sources of an application, and when they are to be read again. They are read
// now if that is due, or was asked for by an edit or by v1.ReconcileAtAnnotation.
func (s *sources) current(ctx context.Context, app *v1.EcommerceApp) ([]propagate.Source, time.Time) {
	if len(app.Spec.Propagate) == 0 || s.options.APIReader == nil {
		s.forget(keyOf(app))
		return nil, time.Time{}
	}
	of := s.of(keyOf(app))
	if all, due, ok := of.fresh(app, s.options.Clock.Now()); ok {
		return all, due
	}
	of.reading.Lock()
	defer of.reading.Unlock()
	if all, due, ok := of.fresh(app, s.options.Clock.Now()); ok {
		return all, due
	}
	s.read(ctx, app, of)
	all, due, _ := of.fresh(app, s.options.Clock.Now())
	return all, due
}

// content reads a source for a member that lacks its present content, and records the version that is read. The object is
// nil unless it may be copied.
func (s *sources) content(ctx context.Context, app *v1.EcommerceApp, object v1.PropagatedObject) (propagate.Source, propagate.Object) {
	ctx, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	found, content := s.readOne(ctx, app.Namespace, object)
	if found.Reason != v1.ReasonNotChecked {
		s.of(keyOf(app)).replace(app.UID, found)
	}
	if !found.IsReadable() {
		return found, nil
	}
	return found, content
}

// read reads the sources of an application, one after the other. What cannot be read because the API
// server does not respond stays as it was.
func (s *sources) read(ctx context.Context, app *v1.EcommerceApp, of *sourcesOfApp) {
	// A member that is disconnected must not end a read that serves all of them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.CallTimeout)
	defer cancel()
	former := of.former(app.UID)
	all := make([]propagate.Source, 0, len(app.Spec.Propagate))
	period := sourcePeriod
	for _, object := range app.Spec.Propagate {
		next, _ := s.readOne(ctx, app.Namespace, object)
		if last, known := former[object]; next.Reason == v1.ReasonNotChecked {
			if known {
				next = last
			}
			period = problemPeriod
		}
		if !next.IsReadable() {
			period = problemPeriod
		}
		all = append(all, next)
	}
	of.set(app, all, s.options.Clock.Now().Add(wait.Jitter(s.options.Waits.Scaled(period), sourceJitter)))
}

// readOne reads one source. It returns no object if the API server does not respond.
func (s *sources) readOne(ctx context.Context, namespace string, object v1.PropagatedObject) (propagate.Source, propagate.Object) {
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

// fresh returns the sources, and whether they need not be read again.
func (o *sourcesOfApp) fresh(app *v1.EcommerceApp, now time.Time) ([]propagate.Source, time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ok := o.app == app.UID && o.generation >= app.Generation && o.reconcileAt == app.Annotations[v1.ReconcileAtAnnotation] && now.Before(o.due)
	return o.all, o.due, ok
}

// former returns the sources by object, if they are those of an application.
func (o *sourcesOfApp) former(app types.UID) map[v1.PropagatedObject]propagate.Source {
	o.mu.Lock()
	defer o.mu.Unlock()
	former := make(map[v1.PropagatedObject]propagate.Source, len(o.all))
	if o.app == app {
		for _, s := range o.all {
			former[s.PropagatedObject] = s
		}
	}
	return former
}

// set records what was read.
func (o *sourcesOfApp) set(app *v1.EcommerceApp, all []propagate.Source, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.app, o.generation, o.reconcileAt = app.UID, app.Generation, app.Annotations[v1.ReconcileAtAnnotation]
	o.all, o.due = all, due
}

// replace records what was read of one source.
func (o *sourcesOfApp) replace(app types.UID, next propagate.Source) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.app != app {
		return
	}
	o.all = slices.Clone(o.all) // The one before is shared.
	for i := range o.all {
		if o.all[i].PropagatedObject == next.PropagatedObject {
			o.all[i] = next
		}
	}
}

// signature returns that of the sources of an application as they were read last.
func (s *sources) signature(app *v1.EcommerceApp) string {
	if len(app.Spec.Propagate) == 0 {
		return ""
	}
	of := s.of(keyOf(app))
	of.mu.Lock()
	defer of.mu.Unlock()
	return propagate.Signature(of.all)
}

// ReadSources reads the objects that an application propagates, if that is due, from the hub's API
// server. It returns the condition Propagated, nil if there are none, and when it is to be called
// again.
func (d *Dispatcher) ReadSources(ctx context.Context, app *v1.EcommerceApp) (*metav1.Condition, time.Time) {
	if app.Ending() {
		return nil, time.Time{}
	}
	all, due := d.sources.current(ctx, app)
	return propagate.Condition(app.Namespace, all), due
}
