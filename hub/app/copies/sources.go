package copies

import (
	"context"
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
	// contentKept is the time for which the content of sources is kept, for the queues of members that
	// write it.
	contentKept = 30 * time.Second
)

// sources are the objects that applications propagate, as they were read from the hub's API server.
// One read serves all members. It is safe for concurrent use.
type sources struct {
	options Options

	mu    sync.Mutex
	known map[types.NamespacedName]*sourcesOfApp
}

// sourcesOfApp are those of one application. Content is kept for a short time only: of what was
// written everywhere, the versions are enough.
type sourcesOfApp struct {
	reading sync.Mutex // Held while the API server is asked.

	mu          sync.Mutex
	app         types.UID
	generation  int64
	reconcileAt string
	due         time.Time
	all         []propagate.Source
	content     map[v1.PropagatedObject]propagate.Object
	release     *time.Timer
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
	if known := s.known[key]; known != nil {
		known.drop()
		delete(s.known, key)
	}
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

// contentOf returns the content of the sources of an application that may be copied, and the sources with
// the versions that it has. It is read unless it was a moment ago.
func (s *sources) contentOf(ctx context.Context, app *v1.EcommerceApp) (content map[v1.PropagatedObject]propagate.Object, all []propagate.Source) {
	of := s.of(keyOf(app))
	of.reading.Lock()
	defer of.reading.Unlock()
	if content, all = of.kept(app); content != nil {
		return content, all
	}
	of.keep(s.read(ctx, app, of))
	return of.kept(app)
}

// read reads the sources of an application, one after the other. What cannot be read because the API
// server does not respond stays as it was.
func (s *sources) read(ctx context.Context, app *v1.EcommerceApp, of *sourcesOfApp) map[v1.PropagatedObject]propagate.Object {
	// A member that is disconnected must not end a read that serves all of them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.CallTimeout)
	defer cancel()
	former := of.former(app.UID)
	content := make(map[v1.PropagatedObject]propagate.Object, len(app.Spec.Propagate))
	all := make([]propagate.Source, 0, len(app.Spec.Propagate))
	period := sourcePeriod
	for _, object := range app.Spec.Propagate {
		next, source := s.readOne(ctx, app.Namespace, object)
		if last, known := former[object]; next.Reason == v1.ReasonNotChecked {
			if known {
				next = last
			}
			period = problemPeriod
		}
		if !next.IsReadable() {
			period = problemPeriod
		} else if source != nil {
			content[object] = source
		}
		all = append(all, next)
	}
	due := s.options.Clock.Now().Add(wait.Jitter(s.options.Waits.Scaled(period), sourceJitter))
	if changed := of.set(app, all, due); changed {
		of.keep(content)
	}
	return content
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

// set records what was read. It reports whether members are about to ask for the content: because it
// has changed, or because the application is new or has been edited.
func (o *sourcesOfApp) set(app *v1.EcommerceApp, all []propagate.Source, due time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed := o.app == app.UID && propagate.Signature(o.all) != propagate.Signature(all) || app.Status.ObservedGeneration != app.Generation
	o.app, o.generation, o.reconcileAt = app.UID, app.Generation, app.Annotations[v1.ReconcileAtAnnotation]
	o.all, o.due, o.content = all, due, nil
	return changed
}

// keep keeps content for contentKept.
func (o *sourcesOfApp) keep(content map[v1.PropagatedObject]propagate.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.content = content
	if o.release != nil {
		o.release.Stop()
	}
	o.release = time.AfterFunc(contentKept, o.drop)
}

// kept returns the content and the sources if they are those of an application, and were kept.
func (o *sourcesOfApp) kept(app *v1.EcommerceApp) (map[v1.PropagatedObject]propagate.Object, []propagate.Source) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.app != app.UID || o.generation < app.Generation {
		return nil, nil
	}
	return o.content, o.all
}

func (o *sourcesOfApp) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.content = nil
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
