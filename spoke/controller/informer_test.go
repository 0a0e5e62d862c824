package controller

import (
	"context"
	"maps"
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
)

// TestStoppedWatch stops a filtered watch that has an event left. A goroutine that stays makes
// synctest fail.
func TestStoppedWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := watch.NewFake()
		lister := drainingListerWatcher{&toolscache.ListWatch{
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return watch.Filter(source, func(in watch.Event) (watch.Event, bool) { return in, true }), nil
			},
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &corev1.PodList{}, nil },
		}}
		w, err := lister.WatchWithContext(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		source.Add(&corev1.Pod{})
		synctest.Wait()
		w.Stop()
	})
}

// runningController passes on the context that it is run with, and runs until it ends.
type runningController struct {
	toolscache.Controller
	given chan context.Context
}

func (c runningController) RunWithContext(ctx context.Context) {
	c.given <- ctx
	<-ctx.Done()
}

// TestInformerContext checks that contexts that are derived from that of an informer start no goroutine, whatever
// context it is run with. Other tests do not run at the same time, as goroutines are those of the process.
func TestInformerContext(t *testing.T) {
	stop, given := make(chan struct{}), make(chan context.Context, 1)
	i := &informer{Controller: runningController{given: given}}
	var running sync.WaitGroup
	running.Go(func() { i.Run(stop) })
	ctx := <-given
	before := goruntime.NumGoroutine()
	for range 10 {
		_, cancel := context.WithCancel(ctx)
		defer cancel()
	}
	if after := goruntime.NumGoroutine(); after > before {
		t.Errorf("10 contexts started %d goroutines", after-before)
	}
	close(stop)
	running.Wait()
	if !i.IsStopped() {
		t.Error("the informer is not stopped")
	}
}

// recordedEvents are the events that a handler received: the objects and their versions that follow from them,
// and the events that contradict those before.
type recordedEvents struct {
	mu             sync.Mutex
	initial        int
	versions       map[string]string
	contradictions []string
}

func (r *recordedEvents) handler() toolscache.ResourceEventHandlerDetailedFuncs {
	change := func(object any, does func(name, version string)) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		pod := object.(*corev1.Pod)
		does(pod.Name, pod.ResourceVersion)
	}
	expect := func(is bool, what, name string) {
		if !is {
			r.contradictions = append(r.contradictions, what+" "+name)
		}
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			change(object, func(name, version string) {
				expect(r.versions[name] == "", "added again", name)
				r.versions[name] = version
				if isInInitialList {
					r.initial++
				}
			})
		},
		UpdateFunc: func(before, after any) {
			change(after, func(name, version string) {
				expect(r.versions[name] == before.(*corev1.Pod).ResourceVersion, "updated from another version", name)
				expect(r.versions[name] != version, "not changed", name)
				r.versions[name] = version
			})
		},
		DeleteFunc: func(object any) {
			change(object, func(name, _ string) {
				expect(r.versions[name] != "", "deleted, but not there", name)
				delete(r.versions, name)
			})
		},
	}
}

func (r *recordedEvents) all() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.versions)
}

// TestInformer changes objects at random while watches end and lists follow, and handlers are added and
// removed: each handler receives each change of the cache once, in order.
func TestInformer(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { informAtRandom(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

// podSource is a list and a watch of pods, whose watches end now and then.
type podSource struct {
	*cachetesting.FakeControllerSource
	random *rand.Rand
	live   map[string]*corev1.Pod
}

// change adds, changes or deletes a pod. Some changes are not seen by the watch, which ends then: the next
// list has them.
func (s *podSource) change() {
	name := []string{"a", "b", "c", "d"}[s.random.IntN(4)]
	object, kind := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, watch.Added
	switch {
	case s.live[name] == nil:
		s.live[name] = object
	case s.random.IntN(3) == 0:
		kind = watch.Deleted
		delete(s.live, name)
	default:
		kind = watch.Modified
	}
	seen := s.random.IntN(3)
	s.Change(watch.Event{Type: kind, Object: object}, float64(min(seen, 1)))
	if seen == 0 {
		s.ResetWatch()
	}
}

// settle lets watches that ended begin again, by the clock of the test.
func (s *podSource) settle() { <-time.After(time.Minute) }

// cached returns the versions of the pods in a cache, which must be those of the source, transformed.
func (s *podSource) cached(t *testing.T, i toolscache.SharedIndexInformer) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, object := range i.GetStore().List() {
		pod := object.(*corev1.Pod)
		if found[pod.Name] = pod.ResourceVersion; pod.Labels["transformed"] == "" || s.live[pod.Name] == nil {
			t.Errorf("the cache has %+v", pod.ObjectMeta)
		}
	}
	if len(found) != len(s.live) {
		t.Errorf("the cache has %d objects, want %d", len(found), len(s.live))
	}
	return found
}

func informAtRandom(t *testing.T, r *rand.Rand) {
	t.Helper()
	source := &podSource{cachetesting.NewFakeControllerSource(), r, map[string]*corev1.Pod{}}
	defer func() { source.Broadcaster.Shutdown() }()
	for range 3 {
		source.change()
	}
	i := NewInformer(source, &corev1.Pod{}, 0, toolscache.Indexers{})
	if err := i.SetTransform(func(object any) (any, error) {
		object.(*corev1.Pod).Labels = map[string]string{"transformed": "yes"}
		return object, nil
	}); err != nil {
		t.Fatal(err)
	}
	first, late := &recordedEvents{versions: map[string]string{}}, &recordedEvents{versions: map[string]string{}}
	added := add(t, i, first)
	if i.HasSynced() || added.HasSynced() {
		t.Error("in sync before it has started")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { i.RunWithContext(ctx) })
	synctest.Wait()
	if want := len(source.live); !i.HasSynced() || first.initial != want || i.SetTransform(nil) == nil {
		t.Errorf("%d objects were in the initial list, want %d; in sync: %t", first.initial, want, i.HasSynced())
	}
	for range 20 {
		source.change()
	}
	if added = add(t, i, late); !added.HasSynced() {
		t.Error("a handler that is added later is not in sync")
	}
	for range 20 {
		source.change()
	}
	source.settle()
	want := source.cached(t, i)
	for name, h := range map[string]*recordedEvents{"first": first, "late": late} {
		if diff := cmp.Diff(want, h.all()); diff != "" || len(h.contradictions) > 0 {
			t.Errorf("the %s handler (-cache +events):\n%s%v", name, diff, h.contradictions)
		}
	}
	testRemoved(t, source, i, added, late)
	cancel()
	running.Wait()
	if _, err := i.AddEventHandler(late.handler()); err == nil || !i.IsStopped() {
		t.Error("a handler was added to an informer that has stopped")
	}
}

func add(t *testing.T, i toolscache.SharedIndexInformer, h *recordedEvents) toolscache.ResourceEventHandlerRegistration {
	t.Helper()
	added, err := i.AddEventHandler(h.handler())
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// testRemoved removes a handler, which receives nothing then.
func testRemoved(
	t *testing.T, source *podSource, i toolscache.SharedIndexInformer, added toolscache.ResourceEventHandlerRegistration, h *recordedEvents,
) {
	t.Helper()
	if err := i.RemoveEventHandler(added); err != nil {
		t.Fatal(err)
	}
	before := h.all()
	source.change()
	source.settle()
	if diff := cmp.Diff(before, h.all()); diff != "" {
		t.Errorf("a handler that was removed received events:\n%s", diff)
	}
}

// TestHandlersMayRead checks that a handler may ask whether the cache is in sync, as each read of it does.
func TestHandlersMayRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := cachetesting.NewFakeControllerSource()
		defer source.Broadcaster.Shutdown()
		source.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
		i := NewInformer(source, &corev1.Pod{}, 0, toolscache.Indexers{})
		read := 0
		if _, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			i.HasSynced()
			read = len(i.GetStore().List())
		}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { i.RunWithContext(ctx) })
		synctest.Wait()
		cancel()
		running.Wait()
		if read != 1 {
			t.Errorf("the handler read %d objects, want 1", read)
		}
	})
}
