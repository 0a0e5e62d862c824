package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// TestStartedServer checks that the status names the server of the spec once it has started, and keeps it until
// another one has.
func TestStartedServer(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Database: &v1.Database{Engine: v1.EngineMySQL, Version: "8.4.2"}}}
	states := []component.State{{Name: database.Component}}
	for _, step := range []struct {
		version, want string
		started       bool
	}{
		{"8.4.2", "", false}, {"8.4.2", "8.4.2", true}, {"8.4.2", "8.4.2", false}, {"8.4.3", "8.4.2", false}, {"8.4.3", "8.4.3", true},
	} {
		app.Spec.Database.Version = step.version
		var want *v1.DatabaseServer
		if step.want != "" {
			want = &v1.DatabaseServer{Version: step.want, Image: "mysql:" + step.want}
		}
		setEcommerceAppStatus(app, component.Summary{States: states, DatabaseStarted: step.started})
		setEcommerceAppStatus(app, component.Summary{}) // Nothing could be observed.
		if diff := cmp.Diff(want, app.Status.StartedServer); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", step, diff)
		}
	}
}

// started checks that the status says with which server a pod has started, and no status is written that says nothing
// new.
func (r *replicated) started(t *testing.T) {
	expect := func(step, want string) {
		t.Helper()
		r.observe(t)
		status := r.stored(t).Status
		if got := status.StartedServer; want == "" && got != nil || want != "" && (got == nil || got.Version != want) {
			t.Errorf("%s: %+v has started, want %q", step, got, want)
		}
	}
	expect("the pods have no revision", "")
	r.setRevision(t, "r1")
	expect("the pods are of another revision", "")
	pod := r.livePod(t, 1)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = "r1"
	if err := r.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: database.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	if err := r.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	expect("a replica runs", "15.4")
	version := r.stored(t).ResourceVersion
	if expect("it goes on", "15.4"); r.stored(t).ResourceVersion != version {
		t.Error("the status is written again")
	}
	r.patch(t, `{"spec":{"database":{"version":"15.5"}}}`)
	expect("the set has another intent", "15.4")
	r.setRevision(t, "r2")
	expect("the pod is of the revision before", "15.4")
	pod = r.livePod(t, 1)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = "r2"
	if err := r.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	expect("it has the next one", "15.5")
}

// setRevision sets the revisions of the pods in the status of the database's StatefulSet, for its spec.
func (r *replicated) setRevision(t *testing.T, revision string) {
	t.Helper()
	set := &appsv1.StatefulSet{}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: r.key.Namespace, Name: r.key.Name + "-database"}, set); err != nil {
		t.Fatal(err)
	}
	set.Status.ObservedGeneration, set.Status.UpdateRevision, set.Status.Replicas = set.Generation, revision, *set.Spec.Replicas
	if err := r.Status().Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
}
