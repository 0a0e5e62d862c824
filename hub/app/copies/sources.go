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
	known map[types.NamespacedName]sourcesOfApp
}

// sourcesOfApp are those of one application. The slice is not changed.
type sourcesOfApp struct {
	app         types.UID
	generation  int64
	reconcileAt string
	// due is when they are to be read again.
	due time.Time
	all []propagate.Source
	// isPartial means that what an earlier revision lists could not be read.
	isPartial bool
}

func newSources(o Options) *sources {
	return &sources{options: o, known: map[types.NamespacedName]sourcesOfApp{}}
}

// of returns the sources of an application as they were read last.
func (s *sources) of(app *v1.EcommerceApp) sourcesOfApp {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.known[keyOf(app)]; known.app == app.UID {
		return known
	}
	return sourcesOfApp{}
}

func (s *sources) set(key types.NamespacedName, next sourcesOfApp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[key] = next
}

func (s *sources) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, key)
}

// current returns the objects that are listed for an application. They are read now if that is due, or was asked for by
// an edit or by v1.ReconcileAtAnnotation.
func (s *sources) current(ctx context.Context, app *v1.EcommerceApp, listed []v1.PropagatedObject) sourcesOfApp {
	known := s.of(app)
	if known.generation != app.Generation || known.reconcileAt != app.Annotations[v1.ReconcileAtAnnotation] ||
		!s.options.Clock.Now().Before(known.due) || !slices.Equal(objectsOf(known.all), listed) {
		known = s.read(ctx, app, listed)
	}
	return known
}

// content reads a source for a member that lacks its present content, and records the version that is read. The object is
// nil unless it may be copied.
func (s *sources) content(ctx context.Context, app *v1.EcommerceApp, object v1.PropagatedObject) (propagate.Source, propagate.Object) {
	ctx, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	found, content := s.readOne(ctx, app.Namespace, object)
	if found.Reason != v1.ReasonNotChecked {
		s.replace(app, found)
	}
	if !found.IsReadable() {
		return found, nil
	}
	return found, content
}

// replace records what was read of one source.
func (s *sources) replace(app *v1.EcommerceApp, next propagate.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[keyOf(app)]
	if i := slices.Index(objectsOf(known.all), next.PropagatedObject); i >= 0 && known.app == app.UID {
		known.all = slices.Clone(known.all)
		known.all[i] = next
		s.known[keyOf(app)] = known
	}
}

func objectsOf(all []propagate.Source) []v1.PropagatedObject {
	objects := make([]v1.PropagatedObject, 0, len(all))
	for _, s := range all {
		objects = append(objects, s.PropagatedObject)
	}
	return objects
}

// read reads the sources of an application, one after the other. What cannot be read because the API
// server does not respond stays as it was.
func (s *sources) read(ctx context.Context, app *v1.EcommerceApp, listed []v1.PropagatedObject) sourcesOfApp {
	ctx, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	former := s.of(app)
	next := sourcesOfApp{app: app.UID, generation: app.Generation, reconcileAt: app.Annotations[v1.ReconcileAtAnnotation]}
	period := sourcePeriod
	for _, object := range listed {
		found, _ := s.readOne(ctx, app.Namespace, object)
		if i := slices.Index(objectsOf(former.all), object); found.Reason == v1.ReasonNotChecked {
			if i >= 0 {
				found = former.all[i]
			}
			period = problemPeriod
		}
		if !found.IsReadable() {
			period = problemPeriod
		}
		next.all = append(next.all, found)
	}
	next.due = s.options.Clock.Now().Add(wait.Jitter(s.options.Waits.Scaled(period), sourceJitter))
	return next
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

// signature returns that of the sources.
func (o sourcesOfApp) signature() string {
	text := propagate.Signature(o.all)
	if o.isPartial {
		text += "?"
	}
	return text
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
		d.sources.forget(keyOf(app))
		return nil, time.Time{}, nil
	}
	known := d.sources.current(ctx, app, listed)
	known.isPartial = err != nil
	d.sources.set(keyOf(app), known)
	return propagate.Condition(app.Namespace, known.all), known.due, err
}
