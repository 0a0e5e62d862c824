package bench_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// measureDeletion deletes the applications of the burst at once. The bare deleter deletes the same
// children in the same order: what depends on others first, and the copies and applications last.
func (f *fixture) measureDeletion(b *testing.B) {
	b.Helper()
	r := f.bareBurst(b)
	f.startDeleter(b, r)
	bare := f.deleteAll(b, bareBurstNamespace, bareSide(), r.shops)
	own := f.deleteAll(b, burstNamespace, hubSide(), r.shops)
	f.crowd = nil
	f.once(b, fmt.Sprintf("%d shops × %d deleted at once → all gone", r.shops, r.members), own, "bare deleter", bare)
}

// deleteAll deletes all applications, and returns the time to the release of the last one.
func (f *fixture) deleteAll(b *testing.B, namespace string, by side, n int) time.Duration {
	b.Helper()
	var all []client.Object
	for i := range n {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(by.apps.GroupVersion().WithKind("EcommerceApp"))
		o.SetNamespace(namespace)
		o.SetName(fmt.Sprintf("shop-%d", i))
		all = append(all, o)
	}
	from := f.Mark(b)
	f.atOnce(b, all, func(o client.Object) error { return f.Hub.Delete(b.Context(), o) })
	within(b, "the applications to be gone", func() (bool, string) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(by.apps.GroupVersion().WithKind("EcommerceApp"))
		if err := f.Hub.List(b.Context(), list, client.InNamespace(namespace)); err != nil {
			return false, err.Error()
		}
		return len(list.Items) == 0, fmt.Sprintf("%d of %d are left", len(list.Items), n)
	})
	log := from.Since(b, f.hub.Cluster)
	began := request{verb: "delete", resource: by.apps.Resource, namespace: namespace}.first(b, log).Received
	return lastOf(log.Where(request{user: by.user, verb: "patch", resource: by.apps.Resource, namespace: namespace}.matches)).Sub(began)
}

// deleter is the bare deleter. It watches the bare applications on the hub.
type deleter struct {
	f *fixture
	r *burst

	mu sync.Mutex
	// begun has the applications that are being deleted.
	begun map[string]bool
	// gone has a channel for each workload in a member, which is closed when it is gone.
	gone map[string]chan struct{}
}

func (f *fixture) startDeleter(b *testing.B, r *burst) {
	b.Helper()
	d := &deleter{f: f, r: r, begun: map[string]bool{}, gone: map[string]chan struct{}{}}
	for _, m := range f.members {
		for _, resource := range workloads() {
			m.follow(b, resource, bareBurstNamespace, func(event watch.Event, o *unstructured.Unstructured) {
				if event.Type == watch.Deleted {
					close(d.departure(m, resource, o.GetName()))
				}
			})
		}
	}
	f.hub.follow(b, bareApps(), bareBurstNamespace, func(event watch.Event, app *unstructured.Unstructured) {
		if event.Type == watch.Modified && app.GetDeletionTimestamp() != nil && !d.begun[app.GetName()] {
			d.begun[app.GetName()] = true
			go d.delete(b, app.GetName())
		}
	})
}

// departure returns the channel that is closed when a workload is gone.
func (d *deleter) departure(m *cluster, resource schema.GroupVersionResource, name string) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := m.Name() + "/" + resource.Resource + "/" + name
	if d.gone[key] == nil {
		d.gone[key] = make(chan struct{})
	}
	return d.gone[key]
}

// delete deletes an application in all members, and then on the hub.
func (d *deleter) delete(b *testing.B, app string) {
	b.Helper()
	var group sync.WaitGroup
	for _, m := range d.f.members {
		group.Go(func() {
			m.remove(b, bareApps(), app, metav1.DeletePropagationBackground)
			for wave := -1; wave < lastWave; wave++ {
				d.deleteWave(b, m, app, wave)
			}
			m.release(b, app)
		})
	}
	group.Wait()
	d.f.hub.release(b, app)
}

// deleteWave deletes the components of an application that may be deleted at the same time, and
// blocks until they are gone.
func (d *deleter) deleteWave(b *testing.B, m *cluster, app string, wave int) {
	b.Helper()
	var group sync.WaitGroup
	for _, c := range d.r.children[m.Name()] {
		if c.app != app || !c.controlled || c.wave() != wave {
			continue
		}
		group.Go(func() {
			if !c.workload() {
				m.remove(b, c.resource, c.name, metav1.DeletePropagationBackground)
				return
			}
			m.remove(b, c.resource, c.name, metav1.DeletePropagationForeground)
			select {
			case <-d.departure(m, c.resource, c.name):
			case <-b.Context().Done():
			}
		})
	}
	group.Wait()
}

// remove deletes an object of the baselines.
func (c *cluster) remove(b *testing.B, what schema.GroupVersionResource, name string, policy metav1.DeletionPropagation) {
	b.Helper()
	err := c.bare.Resource(what).Namespace(bareBurstNamespace).Delete(b.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy})
	if err != nil && !apierrors.IsNotFound(err) {
		b.Errorf("deleting %s %s in %s: %v", what.Resource, name, c.Name(), err)
	}
}

// release removes the finalizers of an application of the baselines, or of a copy.
func (c *cluster) release(b *testing.B, app string) {
	b.Helper()
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	_, err := c.bare.Resource(bareApps()).Namespace(bareBurstNamespace).Patch(b.Context(), app, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		b.Errorf("releasing %s in %s: %v", app, c.Name(), err)
	}
}
