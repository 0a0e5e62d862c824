package bench_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// writersPerMember is how many objects the bare writer of children applies to a member at a time.
const writersPerMember = 64

// child is an object that the hub has rendered, as the bare writer applies it.
type child struct {
	object
	resource schema.GroupVersionResource
	// app is the name of the application, component that of its component.
	app, component string
	// controlled is true for objects that are deleted with their application.
	controlled bool
	namespace  string
}

// workload reports whether the object has pods of its own.
func (c child) workload() bool { return slices.Contains(workloads(), c.resource) }

func workloads() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{deployments(), appsv1.SchemeGroupVersion.WithResource("statefulsets")}
}

// childResources returns the resources that have children of an application, workloads last: their
// pods need others.
func childResources() []schema.GroupVersionResource {
	core := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	return append([]schema.GroupVersionResource{
		core("serviceaccounts"), core("configmaps"), core("secrets"), core("services"), core("persistentvolumeclaims"),
		{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
		{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
		{Group: "batch", Version: "v1", Resource: "cronjobs"},
	}, workloads()...)
}

// childrenOf returns the children in a namespace of a member, for another namespace.
func (c *cluster) childrenOf(b *testing.B, from, to string) []child {
	b.Helper()
	var all []child
	for _, resource := range childResources() {
		list, err := c.bare.Resource(resource).Namespace(from).List(b.Context(), metav1.ListOptions{LabelSelector: v1.OwnerUIDLabel})
		if err != nil {
			b.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			made := child{
				resource: resource, app: o.GetLabels()[v1.InstanceLabel], component: o.GetLabels()[v1.ComponentLabel],
				controlled: metav1.GetControllerOf(o) != nil, namespace: to, object: object{name: o.GetName()},
			}
			made.raw = rendered(b, o, to)
			all = append(all, made)
		}
	}
	return all
}

// rendered returns an object without what the server added, in another namespace and with labels
// that the hub does not watch.
func rendered(b *testing.B, live *unstructured.Unstructured, namespace string) []byte {
	b.Helper()
	o := live.DeepCopy()
	metadata := map[string]any{"name": o.GetName(), "namespace": namespace, "labels": o.GetLabels()}
	if annotations := o.GetAnnotations(); len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	o.Object["metadata"] = metadata
	delete(o.Object, "status")
	unstructured.RemoveNestedField(o.Object, "spec", "volumeName")
	if ip, _, err := unstructured.NestedString(o.Object, "spec", "clusterIP"); err != nil || ip != corev1.ClusterIPNone {
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
	}
	return []byte(strings.NewReplacer(
		`"`+v1.ManagedByLabel+`":"`+v1.ManagedBy+`"`, `"`+v1.ManagedByLabel+`":"`+bareAccount+`"`,
		`"`+v1.OwnerUIDLabel+`"`, `"`+bareGroup+`/uid"`,
	).Replace(string(encode(b, o.Object))))
}

// measureChildren applies the children that the hub has rendered to other namespaces: all at once, and
// then those of each application in the order in which its components need each other.
func (f *fixture) measureChildren(b *testing.B, r *burst) {
	b.Helper()
	r.bareReady, r.children = f.applyChildren(b, bareBurstNamespace, (*cluster).applyAtOnce)
	r.orderedReady, _ = f.applyChildren(b, orderedNamespace, (*cluster).applyInOrder)
}

// applyChildren applies the children of the burst in another namespace of all members. It returns the
// time until the last workload was ready, and the children by member.
func (f *fixture) applyChildren(
	b *testing.B, namespace string, apply func(*cluster, *testing.B, []child, *readiness),
) (took time.Duration, all map[string][]child) {
	b.Helper()
	want := 0
	all = map[string][]child{}
	for _, m := range f.members {
		all[m.Name()] = m.childrenOf(b, burstNamespace, namespace)
		for _, c := range all[m.Name()] {
			if c.workload() {
				want++
			}
		}
		framework.CreateNamespace(b, m.admin, namespace)
	}
	ready := f.followWorkloads(b, namespace)
	began := time.Now()
	var group sync.WaitGroup
	for _, m := range f.members {
		group.Go(func() { apply(m, b, all[m.Name()], ready) })
	}
	group.Wait()
	return ready.last(b, "workloads to be ready", want).Sub(began), all
}

// applyAtOnce applies children as fast as the member accepts them.
func (c *cluster) applyAtOnce(b *testing.B, all []child, _ *readiness) {
	b.Helper()
	var group sync.WaitGroup
	todo := make(chan child)
	for range writersPerMember {
		group.Go(func() {
			for o := range todo {
				c.apply(b, o.resource, o.namespace, o.object)
			}
		})
	}
	for _, o := range all {
		todo <- o
	}
	close(todo)
	group.Wait()
}

// applyInOrder applies the children of each component when the workloads of those that it needs are
// ready, and all applications at the same time.
func (c *cluster) applyInOrder(b *testing.B, all []child, ready *readiness) {
	b.Helper()
	byApp := map[string][]child{}
	for _, o := range all {
		byApp[o.app] = append(byApp[o.app], o)
	}
	var group sync.WaitGroup
	for _, children := range byApp {
		group.Go(func() {
			for _, component := range []string{database.Component, render.Backend, render.Frontend, ""} {
				c.applyComponent(b, slices.DeleteFunc(slices.Clone(children), func(o child) bool { return o.needed() != component }), ready)
			}
		})
	}
	group.Wait()
}

// applyComponent applies the children of a component, and blocks until its workloads are ready.
func (c *cluster) applyComponent(b *testing.B, all []child, ready *readiness) {
	b.Helper()
	for _, o := range all {
		c.apply(b, o.resource, o.namespace, o.object)
	}
	for _, o := range all {
		if o.workload() {
			ready.await(b, c.readyName(o.resource, o.name))
		}
	}
}

// needed returns the component that the object belongs to if others need it, and is empty otherwise.
func (c child) needed() string {
	switch c.component {
	case database.Component, render.Backend, render.Frontend:
		return c.component
	default:
		return ""
	}
}

func (c *cluster) readyName(resource schema.GroupVersionResource, name string) string {
	return c.Name() + "/" + resource.Resource + "/" + name
}

// readiness holds the times at which objects were first ready. It is safe for concurrent use.
type readiness struct {
	mu sync.Mutex
	at map[string]time.Time
	// changed is closed when an object becomes ready, and replaced.
	changed chan struct{}
}

func newReadiness() *readiness {
	return &readiness{at: map[string]time.Time{}, changed: make(chan struct{})}
}

// followWorkloads begins to watch the workloads of a namespace in all members.
func (f *fixture) followWorkloads(b *testing.B, namespace string) *readiness {
	b.Helper()
	r := newReadiness()
	for _, m := range f.members {
		for _, resource := range workloads() {
			m.follow(b, resource, namespace, func(event watch.Event, o *unstructured.Unstructured) {
				if event.Type != watch.Deleted && workloadReady(o) {
					r.note(m.readyName(resource, o.GetName()))
				}
			})
		}
	}
	return r
}

func workloadReady(o *unstructured.Unstructured) bool {
	number := func(fields ...string) int64 {
		n, _, err := unstructured.NestedInt64(o.Object, fields...)
		if err != nil {
			return -1
		}
		return n
	}
	want := number("spec", "replicas")
	return want > 0 && number("status", "readyReplicas") == want && number("status", "observedGeneration") == o.GetGeneration()
}

func (r *readiness) note(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.at[name]; !known {
		r.at[name] = time.Now()
		close(r.changed)
		r.changed = make(chan struct{})
	}
}

// await blocks until an object was ready, or the benchmark ends.
func (r *readiness) await(b *testing.B, name string) {
	b.Helper()
	for {
		r.mu.Lock()
		_, ready := r.at[name]
		changed := r.changed
		r.mu.Unlock()
		if ready {
			return
		}
		select {
		case <-changed:
		case <-b.Context().Done():
			return
		}
	}
}

// last blocks until n objects were ready, and returns when the last one was.
func (r *readiness) last(b *testing.B, what string, n int) time.Time {
	b.Helper()
	var last time.Time
	within(b, "the "+what, func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, at := range r.at {
			if at.After(last) {
				last = at
			}
		}
		return len(r.at) >= n, progress(len(r.at), n)
	})
	return last
}

// lastWave follows the waves of deletions, of which the first is -1.
const lastWave = 2

// wave returns the position of a component in the order of deletions: what depends on another goes
// first.
func (c child) wave() int {
	return slices.Index([]string{render.Backend, database.Component}, c.component)
}
