package bench_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// watchSeconds is longer than a run. By default, API servers end watches after half an hour or more.
const watchSeconds = 6 * 3600

// aheadPrefix begins the namespaces in which the writer writes to the hub before it writes copies.
const aheadPrefix = "ahead-"

// writer is the reactive writer: it watches the bare applications on the hub, and applies each
// generation of each to all members at once, the namespace first.
type writer struct {
	f *fixture

	mu sync.Mutex
	// handled has the generations by object, and namespaces those that exist in all members.
	handled    map[types.UID]int64
	namespaces map[string]bool
}

// startWriter starts the writer, until the fixture ends.
func (f *fixture) startWriter(b *testing.B) {
	b.Helper()
	w := &writer{f: f, handled: map[types.UID]int64{}, namespaces: map[string]bool{}}
	f.hub.follow(b, bareApps(), "", func(event watch.Event, app *unstructured.Unstructured) {
		if event.Type != watch.Deleted && app.GetDeletionTimestamp() == nil && w.isNew(app) {
			go w.write(b, app)
		}
	})
}

// follow calls a function for each object and each event of a watch by the baselines, until the
// benchmark ends. API servers end watches that fall behind in a burst: those go on from where they were.
func (c *cluster) follow(b *testing.B, what schema.GroupVersionResource, namespace string, handle func(watch.Event, *unstructured.Unstructured)) {
	b.Helper()
	resource := c.bare.Resource(what).Namespace(namespace)
	list, err := resource.List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range list.Items {
		handle(watch.Event{Type: watch.Added, Object: &list.Items[i]}, &list.Items[i])
	}
	ctx, cancel := context.WithCancel(b.Context())
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.TimeoutSeconds = new(int64(watchSeconds))
			return resource.Watch(ctx, options)
		},
	})
	if err != nil {
		cancel()
		b.Fatal(err)
	}
	b.Cleanup(cancel)
	go func() {
		for event := range events.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				handle(event, object)
			}
		}
		if ctx.Err() == nil {
			b.Errorf("a watch of %s on %s ended", what.Resource, c.Name())
		}
	}()
}

func (w *writer) isNew(app *unstructured.Unstructured) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh := w.handled[app.GetUID()] < app.GetGeneration()
	w.handled[app.GetUID()] = app.GetGeneration()
	return fresh
}

func (w *writer) write(b *testing.B, app *unstructured.Unstructured) {
	b.Helper()
	namespace, name := app.GetNamespace(), app.GetName()
	if strings.HasPrefix(namespace, aheadPrefix) && !w.writeAhead(b, app) {
		return
	}
	w.mu.Lock()
	known := w.namespaces[namespace]
	w.mu.Unlock()
	var group sync.WaitGroup
	for _, m := range w.f.members {
		group.Go(func() {
			if !known {
				m.apply(b, namespaces(), "", namespaceNamed(b, namespace))
			}
			m.apply(b, bareApps(), namespace, object{name, copyOf(b, app, m.Name())})
		})
	}
	group.Wait()
	w.mu.Lock()
	w.namespaces[namespace] = true
	w.mu.Unlock()
}

// writeAhead writes to the application on the hub: its metadata when it is new, and later its status.
func (w *writer) writeAhead(b *testing.B, app *unstructured.Unstructured) bool {
	b.Helper()
	patch := encode(b, map[string]any{"metadata": map[string]any{"finalizers": []string{v1.HubFinalizer}}})
	var subresources []string
	if app.GetGeneration() > 1 {
		patch = encode(b, map[string]any{"status": map[string]any{"observedGeneration": app.GetGeneration()}})
		subresources = []string{"status"}
	}
	_, err := w.f.hub.bare.Resource(bareApps()).Namespace(app.GetNamespace()).
		Patch(b.Context(), app.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, subresources...)
	if err != nil {
		b.Errorf("writing ahead: %v", err)
	}
	return err == nil
}

// object is a name and the bytes to apply.
type object struct {
	name string
	raw  []byte
}

func namespaces() schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource("namespaces")
}

func namespaceNamed(b *testing.B, name string) object {
	b.Helper()
	return object{name, encode(b, map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name, "labels": map[string]string{v1.ManagedByLabel: bareAccount}},
	})}
}

// copyOf returns the copy of an application for a member, as the hub makes one.
func copyOf(b *testing.B, app *unstructured.Unstructured, member string) []byte {
	b.Helper()
	spec, _, err := unstructured.NestedMap(app.Object, "spec")
	if err != nil {
		b.Error(err)
	}
	delete(spec, "placement")
	return encode(b, map[string]any{
		"apiVersion": bareGroup + "/" + v1.GroupVersion.Version, "kind": "EcommerceApp",
		"metadata": map[string]any{
			"namespace": app.GetNamespace(), "name": app.GetName(), "finalizers": []string{v1.SpokeFinalizer},
			"labels": map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: member},
			"annotations": map[string]string{
				v1.HubAppUIDAnnotation: string(app.GetUID()), v1.HubGenerationAnnotation: "1",
				v1.ManagedByModeAnnotation: string(v1.ManagedByHub),
				v1.SpecHashAnnotation:      strings.Repeat("0", 64),
			},
		},
		"spec": spec,
	})
}

// apply applies an object as the baselines' user. It may be called from any goroutine.
func (c *cluster) apply(b *testing.B, what schema.GroupVersionResource, namespace string, o object) {
	b.Helper()
	force := true
	_, err := c.bare.Resource(what).Namespace(namespace).Patch(b.Context(), o.name, types.ApplyPatchType, o.raw,
		metav1.PatchOptions{FieldManager: bareAccount, Force: &force})
	if err != nil {
		b.Errorf("applying %s %s to %s: %v", what.Resource, o.name, c.Name(), err)
	}
}

// bareOf returns an application as an object of the baselines' kind.
func bareOf(b *testing.B, app *v1.EcommerceApp, finalizers ...string) *unstructured.Unstructured {
	b.Helper()
	content := map[string]any{}
	if err := json.Unmarshal(encode(b, app), &content); err != nil {
		b.Fatal(err)
	}
	delete(content, "status")
	o := &unstructured.Unstructured{Object: content}
	o.SetAPIVersion(bareGroup + "/" + v1.GroupVersion.Version)
	o.SetKind("EcommerceApp")
	o.SetFinalizers(slices.Clone(finalizers))
	return o
}

func encode(b *testing.B, value any) []byte {
	b.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		b.Error(err)
	}
	return raw
}
