package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// TestLoading checks that a load scales the workloads that use the database to zero, also with an autoscaler,
// suspends dumps, and changes nothing else.
func TestLoading(t *testing.T) {
	t.Parallel()
	scaled := sampleShop(t)
	scaled.Spec.Frontend.Autoscaling = &v1.Autoscaling{MinReplicas: 2, MaxReplicas: 4}
	for name, app := range map[string]*v1.EcommerceApp{"sample": sampleShop(t), "everything": everythingShop(t), "autoscaled": scaled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, err := EcommerceApp(app, Cluster{})
			if err != nil {
				t.Fatal(err)
			}
			after, err := EcommerceApp(loadingMonday(app), Cluster{})
			if err != nil {
				t.Fatal(err)
			}
			if stopped := undo(t, before, after); stopped != 2 {
				t.Errorf("%d Deployments are stopped, want 2", stopped)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("something else is different:\n%s", diff)
			}
		})
	}
}

// loadingMonday returns the application while the Restore monday loads its database.
func loadingMonday(app *v1.EcommerceApp) *v1.EcommerceApp {
	loading := app.DeepCopy()
	if loading.Annotations == nil {
		loading.Annotations = map[string]string{}
	}
	loading.Annotations[v1.LoadingAnnotation] = "monday"
	return loading
}

// undo expects what a load changes, and takes it back. It returns how many Deployments
// were stopped.
func undo(t *testing.T, before, after []component.Component) int {
	t.Helper()
	stopped := 0
	for i, c := range after {
		resume(t, c)
		if c.Name == Backend || c.Name == Frontend {
			stopped += start(t, before[i], c)
			after[i].Note, after[i].Stopped = before[i].Note, before[i].Stopped
		}
	}
	return stopped
}

// resume expects that a component's CronJobs are suspended, and takes that back.
func resume(t *testing.T, c component.Component) {
	t.Helper()
	for _, o := range c.Objects {
		if cronJob, ok := o.Resource.(*batchv1.CronJob); ok {
			if cronJob.Spec.Suspend == nil || !*cronJob.Spec.Suspend {
				t.Errorf("the CronJob %s is not suspended", cronJob.Name)
			}
			cronJob.Spec.Suspend = new(false)
		}
	}
}

// start expects that a component is stopped, and takes over the number of pods from before.
// It returns how many Deployments that were.
func start(t *testing.T, before, stopped component.Component) int {
	t.Helper()
	if want := "stopped while restore monday loads the database"; stopped.Note != want {
		t.Errorf("%s: note %q, want %q", stopped.Name, stopped.Note, want)
	}
	count := 0
	for i, o := range stopped.Objects {
		d, ok := o.Resource.(*appsv1.Deployment)
		if !ok {
			continue
		}
		if d.Spec.Replicas == nil || *d.Spec.Replicas != 0 {
			t.Errorf("%s: replicas %v, want 0", d.Name, d.Spec.Replicas)
		}
		d.Spec.Replicas = before.Objects[i].Resource.(*appsv1.Deployment).Spec.Replicas
		count++
	}
	return count
}

// TestLoadingIsReady checks that workloads that a load has stopped are no failure, and that their message says so.
func TestLoadingIsReady(t *testing.T) {
	t.Parallel()
	app := sampleShop(t)
	app.Annotations = map[string]string{v1.LoadingAnnotation: "monday"}
	components, err := EcommerceApp(app, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(components, func(c component.Component) bool { return c.Name == Backend })
	live := component.Live{}
	for _, o := range components[i].Objects {
		live[component.KeyOf(o.Resource)] = o.Resource
	}
	state := component.Observe(components[i], live, true)
	want := component.State{
		Name: Backend, Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonRunning, Selector: state.Selector, Awaited: state.Selector, Serving: true,
		Message: "0 of 0 replicas are ready; stopped while restore monday loads the database",
	}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// TestDatabase checks that Jobs of other packages fit the database that is rendered.
func TestDatabase(t *testing.T) {
	t.Parallel()
	app := everythingShop(t)
	spec, err := Database(app, Cluster{Name: "eu-1"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := database.Render(spec)
	if err != nil {
		t.Fatal(err)
	}
	components, err := EcommerceApp(app, Cluster{Name: "eu-1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(components[0], got); diff != "" {
		t.Errorf("another database (-want +got):\n%s", diff)
	}
	claim := objectparts.Name(app.Name, "-database-backup", objectparts.MaxName)
	if got := DatabaseDumps(app.Name); got != claim || got != spec.BackupsClaim() {
		t.Errorf("dumps are on %q and on %q, want %q", got, spec.BackupsClaim(), claim)
	}
	app.Spec.Database = nil
	if _, err := Database(app, Cluster{}); err == nil {
		t.Error("an application without a database has one")
	}
}

// TestJobsAreRestricted checks that the pods of Jobs are restricted, as all others are.
func TestJobsAreRestricted(t *testing.T) {
	t.Parallel()
	for _, app := range []*v1.EcommerceApp{sampleShop(t), everythingShop(t)} {
		spec, err := Database(app, Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		o := order.Order{
			Direction: order.Fetch, File: "a.dump", Bytes: 1, SHA256: strings.Repeat("0", 64),
			Parts: []order.Part{{Bytes: 1, Request: &order.Request{Method: "GET", URL: "https://bucket.example/a"}}},
		}
		fetch, err := o.Write()
		if err != nil {
			t.Fatal(err)
		}
		o.Direction, o.Parts[0].Request.Method = order.Send, "PUT"
		send, err := o.Write()
		if err != nil {
			t.Fatal(err)
		}
		job := jobs.Job{Namespace: app.Namespace, Name: "a"}
		load, _, err := jobs.Load(jobs.LoadSpec{
			Job: job, Database: spec, File: o.File, Bytes: 1, SHA256: o.SHA256, Claim: "dumps",
			Fetch: &jobs.Fetch{Image: "spoke:v1", Order: fetch},
		})
		if err != nil {
			t.Fatal(err)
		}
		sent, _, err := jobs.Send(jobs.SendSpec{Job: job, Image: "spoke:v1", Order: send, Claim: "dumps"})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range []corev1.PodSpec{load.Spec.Template.Spec, sent.Spec.Template.Spec} {
			if violations := restricted(pod); len(violations) > 0 {
				t.Errorf("%s: %q", pod.Containers[0].Name, violations)
			}
		}
	}
}
