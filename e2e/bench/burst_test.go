package bench_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	burstNamespace = "burst"
	// bareBurstNamespace has the same applications and children, of the baselines.
	bareBurstNamespace = "bare-burst"
	// orderedNamespace has the same children, applied in the order of components.
	orderedNamespace = "bare-ordered"
)

// burst is the outcome of many applications that are created at once, and stay.
type burst struct {
	shops, members int
	// copies is the time until the last copy, ready until the last workload is ready in a member,
	// and running until the last application is Running by its status on the hub.
	copies, ready, running time.Duration
	// aheadCopies are those of a bare writer that writes to each application first.
	bareCopies, aheadCopies time.Duration
	// bareReady is that of the children applied at once, orderedReady of those in the order of
	// components.
	bareReady, orderedReady time.Duration
	cpu                     time.Duration
	before, after           memory
	// requests are those of the hub until all were Running: to members by verb and status, and its writes
	// to its own API server.
	requests  map[string]int
	hubWrites int
	// passes are the reconciliations until then, by controller.
	passes map[string]int
	// children are the objects of all applications, by member.
	children map[string][]child
}

// perCopy returns the part of a number that falls to one copy.
func (b *burst) perCopy(n float64) float64 { return n / float64(b.shops*b.members) }

// measureBurst creates many applications at once. The bare writer applies the same copies, and then
// the children that the hub has rendered.
func (f *fixture) measureBurst(b *testing.B) {
	b.Helper()
	r := f.bareBurst(b)
	name := fmt.Sprintf("%d shops × %d at once", r.shops, r.members)
	f.once(b, name+" → last copy", r.copies, "bare writer of copies", r.bareCopies)
	f.once(b, name+" → last copy", r.copies, "bare writer of copies, one hub write first", r.aheadCopies)
	f.once(b, name+" → last workload ready", r.ready, "bare writer of children", r.bareReady)
	f.once(b, name+" → all Running on the hub", r.running, "bare writer of children, workloads ready", r.bareReady)
	f.once(b, name+" → all Running on the hub", r.running, "bare writer of children in order, workloads ready", r.orderedReady)
	f.value(b, "processor time of the hub for each copy, until Running", "%.1f ms", r.perCopy(milliseconds(r.cpu)))
	for _, verb := range slices.Sorted(maps.Keys(r.requests)) {
		f.value(b, "requests of the hub for each copy: "+verb, "%.2f", r.perCopy(float64(r.requests[verb])))
	}
	for _, name := range slices.Sorted(maps.Keys(r.passes)) {
		f.value(b, "passes for each copy: "+name, "%.2f", r.perCopy(float64(r.passes[name])))
	}
	f.value(b, "hub writes for each shop", "%.2f", float64(r.hubWrites)/float64(r.shops))
	f.value(b, "live heap before / after, and for each copy", "%.1f / %.1f MiB, %.0f KiB", r.before.live, r.after.live, r.perCopy((r.after.live-r.before.live)*1024))
	f.value(b, "resident memory before / after", "%.0f / %.0f MiB", r.before.rss, r.after.rss)
	f.value(b, "goroutines before / after", "%d / %d", r.before.goroutines, r.after.goroutines)
}

// burst returns the burst, and creates it at the first call, without the baselines.
func (f *fixture) burst(b *testing.B) *burst {
	b.Helper()
	if f.crowd == nil {
		r := &burst{shops: number(b, shopsVariable, defaultShops), members: len(f.members)}
		var shops []client.Object
		for i := range r.shops {
			shops = append(shops, f.shop(burstNamespace, fmt.Sprintf("shop-%d", i)))
		}
		f.measureShops(b, r, shops)
		f.crowd = r
	}
	return f.crowd
}

// bareBurst returns the burst with the baselines. At the first call, bare writers write as many copies, and then
// the children that the hub has rendered.
func (f *fixture) bareBurst(b *testing.B) *burst {
	b.Helper()
	if f.crowd != nil && f.crowd.children != nil {
		return f.crowd
	}
	var bare, ahead []client.Object
	for i := range number(b, shopsVariable, defaultShops) {
		bare = append(bare, bareOf(b, f.shop(bareBurstNamespace, fmt.Sprintf("shop-%d", i)), v1.HubFinalizer))
		ahead = append(ahead, bareOf(b, f.shop(aheadPrefix+burstNamespace, fmt.Sprintf("shop-%d", i))))
	}
	bareCopies, aheadCopies := f.createAll(b, bare, bareSide()), f.createAll(b, ahead, bareSide())
	r := f.burst(b)
	r.bareCopies, r.aheadCopies = bareCopies, aheadCopies
	f.measureChildren(b, r)
	return r
}

// createAll creates applications at once, and returns the time to the last copy.
func (f *fixture) createAll(b *testing.B, all []client.Object, by side) time.Duration {
	b.Helper()
	namespace := all[0].GetNamespace()
	framework.CreateNamespace(b, f.Hub, namespace)
	var copied []func()
	for _, m := range f.members {
		copied = append(copied, m.await(b, by.apps, namespace, counter(len(all))))
	}
	from := f.Mark(b)
	f.atOnce(b, all, func(o client.Object) error { return f.Hub.Create(b.Context(), o) })
	for _, await := range copied {
		await()
	}
	return f.spanOfAll(b, from, namespace, request{user: by.user, verb: "patch", resource: by.apps.Resource, namespace: namespace, code: 201})
}

// spanOfAll returns the time from the first creation of an application to the last response of the kind in
// all members.
func (f *fixture) spanOfAll(b *testing.B, from framework.Marks, namespace string, effect request) time.Duration {
	b.Helper()
	began := request{verb: "create", resource: apps().Resource, namespace: namespace}.first(b, from.Since(b, f.hub.Cluster)).Received
	var took time.Duration
	for _, m := range f.members {
		took = max(took, lastOf(from.Since(b, m.Cluster).Where(effect.matches)).Sub(began))
	}
	return took
}

// lastOf returns when the last response was sent.
func lastOf(log audit.Log) time.Time {
	var last time.Time
	for _, e := range log {
		if e.Completed.After(last) {
			last = e.Completed
		}
	}
	return last
}

// counter returns a function that returns true when it has seen as many names.
func counter(n int) func(*unstructured.Unstructured) bool {
	seen := map[string]bool{}
	return func(o *unstructured.Unstructured) bool {
		seen[o.GetName()] = true
		return len(seen) >= n
	}
}

// atOnce does something with all objects at the same time.
func (f *fixture) atOnce(b *testing.B, all []client.Object, do func(client.Object) error) {
	b.Helper()
	var group sync.WaitGroup
	for _, o := range all {
		group.Go(func() {
			if err := do(o); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// measureShops measures the hub.
func (f *fixture) measureShops(b *testing.B, r *burst, shops []client.Object) {
	b.Helper()
	r.before = f.process.memory(b)
	from, used, done, passes := f.Mark(b), f.process.cpu(b), f.process.profile(b), f.process.passes(b)
	ready, running := f.followWorkloads(b, burstNamespace), f.followRunning(b)
	r.copies = f.createAll(b, shops, hubSide())
	began := request{verb: "create", resource: apps().Resource, namespace: burstNamespace}.first(b, from.Since(b, f.hub.Cluster)).Received
	r.running = running.last(b, "applications to be Running", r.shops).Sub(began)
	r.ready = ready.last(b, "workloads to be ready", r.shops).Sub(began)
	r.cpu, r.passes = f.process.cpu(b)-used, f.process.passes(b)
	for name, before := range passes {
		r.passes[name] -= before
	}
	maps.DeleteFunc(r.passes, func(_ string, n int) bool { return n == 0 })
	onHub := from.By(b, f.hub.Cluster, hubAccount).Writes().In(burstNamespace)
	r.hubWrites, r.requests = len(onHub.Except("events")), map[string]int{}
	for _, m := range f.members {
		for verb, n := range from.By(b, m.Cluster, hubAccount).About(burstNamespace).ByVerb() {
			r.requests[verb] += n
		}
	}
	done()
	r.after = f.process.memory(b)
}

// awaitAll blocks until all applications of a namespace on the hub are as check says.
func (f *fixture) awaitAll(b *testing.B, namespace string, want int, check func(*v1.EcommerceApp) bool) {
	b.Helper()
	within(b, "all applications", func() (bool, string) {
		list := &v1.EcommerceAppList{}
		if err := f.Hub.List(b.Context(), list, client.InNamespace(namespace)); err != nil {
			return false, err.Error()
		}
		n := 0
		for i := range list.Items {
			if check(&list.Items[i]) {
				n++
			}
		}
		return n == want && len(list.Items) == want, progress(n, want)
	})
}

// followRunning begins to watch the applications of the burst on the hub, as they become Running.
func (f *fixture) followRunning(b *testing.B) *readiness {
	b.Helper()
	r := newReadiness()
	f.hub.follow(b, apps(), burstNamespace, func(event watch.Event, o *unstructured.Unstructured) {
		app := &v1.EcommerceApp{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, app); err != nil {
			b.Error(err)
		}
		if event.Type != watch.Deleted && framework.Runs(app, f.regions()...) == nil {
			r.note(app.Name)
		}
	})
	return r
}
