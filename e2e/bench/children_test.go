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
				controlled: metav1.GetControllerOf(o) != nil, object: object{name: o.GetName()},
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

// measureChildren applies the children that the hub has rendered to other namespaces, at once.
func (f *fixture) measureChildren(b *testing.B, r *burst) {
	b.Helper()
	want := 0
	for _, m := range f.members {
		r.children[m.Name()] = m.childrenOf(b, burstNamespace, bareBurstNamespace)
		for _, c := range r.children[m.Name()] {
			if c.workload() {
				want++
			}
		}
		framework.CreateNamespace(b, m.admin, bareBurstNamespace)
	}
	ready := f.followWorkloads(b, bareBurstNamespace)
	began := time.Now()
	var group sync.WaitGroup
	for _, m := range f.members {
		todo := make(chan child)
		for range writersPerMember {
			group.Go(func() {
				for c := range todo {
					m.apply(b, c.resource, bareBurstNamespace, c.object)
				}
			})
		}
		group.Go(func() {
			defer close(todo)
			for _, c := range r.children[m.Name()] {
				todo <- c
			}
		})
	}
	group.Wait()
	r.bareReady = ready.last(b, "workloads to be ready", want).Sub(began)
}

// readiness has the times at which objects were first ready. It is safe for concurrent use.
type readiness struct {
	mu sync.Mutex
	at map[string]time.Time
}

// followWorkloads begins to watch the workloads of a namespace in all members.
func (f *fixture) followWorkloads(b *testing.B, namespace string) *readiness {
	b.Helper()
	r := &readiness{at: map[string]time.Time{}}
	for _, m := range f.members {
		for _, resource := range workloads() {
			m.follow(b, resource, namespace, func(event watch.Event, o *unstructured.Unstructured) {
				if event.Type != watch.Deleted && workloadReady(o) {
					r.note(m.Name() + "/" + resource.Resource + "/" + o.GetName())
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
