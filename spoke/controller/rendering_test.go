package controller

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/controller/reconciler"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// renderingEnv is a variable of the containers that builds render after the first one, with their version.
const renderingEnv = "RENDERING"

// slimReader reads from an API server as from a cache, which keeps no more of children than decisions read.
type slimReader struct {
	client.Reader
	slimmer
}

func (r slimReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, into, opts...)
	if err == nil {
		_, err = r.child(into)
	}
	return err
}

func (r slimReader) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if err := r.Reader.List(ctx, into, opts...); err != nil {
		return err
	}
	return meta.EachListItem(into, func(item runtime.Object) error {
		_, err := r.child(item)
		return err
	})
}

// start replaces the process by one of a build whose pod templates are of a version.
func (w *writer) start(t *testing.T, version string) {
	t.Helper()
	m := w.member(t)
	m.Applier = apply.New(apply.Options{Client: m.Client, Reader: m.APIReader, FieldManager: v1.SpokeFieldManager, Random: rand.Reader, Clock: w.clock, Slim: isSlim})
	all := m.Children(nil)
	for i := range all {
		all[i].Reader = slimReader{all[i].Reader, newSlimmer()}
	}
	m.Children = func([]client.Object) []reconciler.Child { return all }
	kind := EcommerceAppWith(Templates{Version: version, Render: func(app *v1.EcommerceApp, c render.Cluster) ([]component.Component, error) {
		components, err := render.EcommerceApp(app, c)
		for _, part := range components {
			for _, object := range part.Objects {
				if template := templateIn(object.Resource); template != nil && version != "1" {
					first := &template.Spec.Containers[0]
					first.Env = append(slices.Clip(first.Env), corev1.EnvVar{Name: renderingEnv, Value: version})
				}
			}
		}
		return components, err
	}})
	w.Reconciler = kind.Reconciler(m)
}

func templateIn(r client.Object) *corev1.PodTemplateSpec {
	switch o := r.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	default:
		return nil
	}
}

// workload reads a workload, and returns it with the version of its pod template.
func (w *writer) workload(t *testing.T, name string) (object client.Object, version string) {
	t.Helper()
	object = &appsv1.Deployment{}
	if name == "database" {
		object = &appsv1.StatefulSet{}
	}
	if err := w.Get(t.Context(), types.NamespacedName{Namespace: w.key.Namespace, Name: w.key.Name + "-" + name}, object); err != nil {
		t.Fatal(err)
	}
	version = "1"
	for _, e := range templateIn(object).Spec.Containers[0].Env {
		if e.Name == renderingEnv {
			version = e.Value
		}
	}
	return object, version
}

// run makes all pods of a workload ready.
func (w *writer) run(t *testing.T, name string) {
	t.Helper()
	object, _ := w.workload(t, name)
	switch o := object.(type) {
	case *appsv1.Deployment:
		n := *o.Spec.Replicas
		o.Status = appsv1.DeploymentStatus{ObservedGeneration: o.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	case *appsv1.StatefulSet:
		n := *o.Spec.Replicas
		o.Status = appsv1.StatefulSetStatus{ObservedGeneration: o.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	}
	if err := w.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// runAll reconciles twice, and makes all pods ready after each time.
func (w *writer) runAll(t *testing.T) {
	t.Helper()
	for range 2 {
		w.reconcile(t)
		for _, name := range []string{"database", "backend", "frontend"} {
			w.run(t, name)
		}
	}
	w.reconcile(t)
}

// wantVersions compares the versions of the pod templates.
func (w *writer) wantVersions(t *testing.T, when string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name := range want {
		_, got[name] = w.workload(t, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: versions of the pod templates (-want +got):\n%s", when, diff)
	}
}

// wantStatus compares what the status says about pod templates.
func (w *writer) wantStatus(t *testing.T, when, version string, held ...string) {
	t.Helper()
	if got := w.stored(t).Status; got.RenderingVersion != version || !slices.Equal(got.HeldTemplates, held) {
		t.Errorf("%s: the status has version %q and holds %v, want %q and %v", when, got.RenderingVersion, got.HeldTemplates, version, held)
	}
}

// shopOf runs a shop with all its workloads, of the first version.
func (w *writer) shopOf(t *testing.T) {
	t.Helper()
	w.start(t, "1")
	w.patch(t, `{"spec":{"database":{"engine":"postgresql","version":"17.2","storage":"1Gi"},"backend":{"image":"backend:v1"},"frontend":{"replicas":2}}}`)
	for _, name := range []string{"database", "backend", "frontend"} {
		w.reconcile(t)
		w.run(t, name)
	}
	w.reconcile(t)
	w.reconcile(t)
	w.wantStatus(t, "at first", "1")
}

// testHeldTemplates upgrades a copy to a build that renders other pod templates: none is written until the hub says so, but
// those whose part of the spec is edited, and what others changed.
func testHeldTemplates(t *testing.T, w *writer) {
	t.Helper()
	w.patch(t, `{"metadata":{"annotations":{"`+v1.HubAppUIDAnnotation+`":"u","`+v1.ManagedByModeAnnotation+`":"agent","`+v1.RenderingAnnotation+`":"1"}}}`)
	w.shopOf(t)
	before := map[string]client.Object{}
	for _, name := range []string{"database", "backend", "frontend"} {
		before[name], _ = w.workload(t, name)
	}
	w.start(t, "2")
	w.reconcile(t)
	w.wantVersions(t, "after an upgrade", map[string]string{"database": "1", "backend": "1", "frontend": "1"})
	w.wantStatus(t, "after an upgrade", "2", "database", "backend", "frontend")
	for name, was := range before {
		now, _ := w.workload(t, name)
		if diff := cmp.Diff(templateIn(was), templateIn(now)); diff != "" {
			t.Errorf("pods of the %s are replaced (-before +after):\n%s", name, diff)
		}
		before[name] = now
	}
	w.runAll(t)
	for name, was := range before {
		if now, _ := w.workload(t, name); now.GetGeneration() != was.GetGeneration() {
			t.Errorf("%s is written by each pass", name)
		}
	}

	w.patch(t, `{"spec":{"frontend":{"replicas":3}}}`)
	w.runAll(t)
	if d, version := w.workload(t, "frontend"); *d.(*appsv1.Deployment).Spec.Replicas != 3 || version != "1" {
		t.Errorf("after a scale: %d replicas of version %s", *d.(*appsv1.Deployment).Spec.Replicas, version)
	}
	w.patch(t, `{"spec":{"frontend":{"replicas":1},"backend":{"replicas":2}}}`)
	w.runAll(t)
	w.wantVersions(t, "after another share of the replicas", map[string]string{"database": "1", "backend": "1", "frontend": "1"})
	w.patch(t, `{"spec":{"frontend":{"image":"shop:v2"}}}`)
	w.runAll(t)
	w.wantVersions(t, "after an edit of the frontend", map[string]string{"database": "1", "backend": "1", "frontend": "2"})

	other, _ := w.workload(t, "backend")
	templateIn(other).Spec.Containers[0].Image = "other:v1"
	if err := w.Update(t.Context(), other, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	w.runAll(t)
	w.wantVersions(t, "after an edit by others", map[string]string{"database": "1", "backend": "2", "frontend": "2"})
	if d, _ := w.workload(t, "backend"); templateIn(d).Spec.Containers[0].Image != "backend:v1" {
		t.Error("what others changed was not repaired")
	}
	w.wantStatus(t, "after edits", "2", "database")

	w.patch(t, `{"metadata":{"annotations":{"`+v1.RenderingAnnotation+`":"2"}}}`)
	w.reconcile(t)
	w.wantVersions(t, "when the hub says so", map[string]string{"database": "2", "backend": "2", "frontend": "2"})
	w.runAll(t)
	w.wantStatus(t, "in the end", "2")
}

// testTemplatesOfAnEarlierRelease upgrades from a build that noted neither versions nor inputs: nothing restarts.
func testTemplatesOfAnEarlierRelease(t *testing.T, w *writer) {
	t.Helper()
	w.patch(t, `{"metadata":{"annotations":{"`+v1.HubAppUIDAnnotation+`":"u","`+v1.ManagedByModeAnnotation+`":"agent"}}}`)
	w.shopOf(t)
	set, _ := w.workload(t, "database")
	generation := set.GetGeneration()
	annotations := set.GetAnnotations()
	annotations[v1.RenderedAnnotation] = strings.Join(strings.Split(annotations[v1.RenderedAnnotation], ".")[:4], ".")
	if err := w.Update(t.Context(), set, client.FieldOwner(v1.SpokeFieldManager)); err != nil {
		t.Fatal(err)
	}
	w.start(t, "2")
	w.reconcile(t)
	w.reconcile(t)
	w.wantVersions(t, "after an upgrade", map[string]string{"database": "1", "backend": "1", "frontend": "1"})
	set, _ = w.workload(t, "database")
	if parts := strings.Split(set.GetAnnotations()[v1.RenderedAnnotation], "."); len(parts) != 6 || parts[4] == "" || set.GetGeneration() != generation {
		t.Errorf("the database has generation %d, and notes %v", set.GetGeneration(), parts)
	}
	w.patch(t, `{"spec":{"database":{"resources":{"requests":{"memory":"1Gi"}}}}}`)
	w.runAll(t)
	w.wantVersions(t, "after an edit of the database", map[string]string{"database": "2", "backend": "1", "frontend": "1"})
}

// testTemplatesWithoutAHub upgrades a cluster without a hub: one component after the other gets its pods, each when those
// before are ready.
func testTemplatesWithoutAHub(t *testing.T, w *writer) {
	t.Helper()
	w.shopOf(t)
	w.start(t, "2")
	versions := map[string]string{"database": "1", "backend": "1", "frontend": "1"}
	for i, name := range []string{"database", "backend", "frontend"} {
		w.reconcile(t)
		for _, other := range []string{"database", "backend", "frontend"} {
			if other != name {
				w.run(t, other)
			}
		}
		w.reconcile(t) // It is not ready: nothing else begins.
		versions[name] = "2"
		w.wantVersions(t, "when it is the turn of "+name, versions)
		w.wantStatus(t, "when it is the turn of "+name, "2", []string{"backend", "frontend"}[min(i, 2):]...)
		w.run(t, name)
	}
	w.reconcile(t)
	w.wantStatus(t, "in the end", "2")
}
