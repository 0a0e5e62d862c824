package hub_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/controller"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// buildVariable is a variable of the containers of the build that comes next.
const buildVariable = "BUILD"

// nextVersion returns the version of the pod templates of the build that comes next.
func nextVersion(t *testing.T) int64 {
	t.Helper()
	version, err := strconv.ParseInt(render.Version, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version + 1
}

// nextBuild renders each pod with one more variable.
func nextBuild(app *v1.EcommerceApp, c render.Cluster) ([]component.Component, error) {
	components, err := render.EcommerceApp(app, c)
	for _, part := range components {
		for _, object := range part.Objects {
			var pod *corev1.PodSpec
			switch w := object.Resource.(type) {
			case *appsv1.Deployment:
				pod = &w.Spec.Template.Spec
			case *appsv1.StatefulSet:
				pod = &w.Spec.Template.Spec
			default:
				continue
			}
			pod.Containers[0].Env = append(slices.Clip(pod.Containers[0].Env), corev1.EnvVar{Name: buildVariable, Value: "next"})
		}
	}
	return components, err
}

// templatesIn returns the pod templates of the workloads of a shop in a member, by component.
func (s *suite) templatesIn(t *testing.T, app *v1.EcommerceApp, member string) map[string]corev1.PodTemplateSpec {
	t.Helper()
	set, templates := &appsv1.StatefulSet{}, map[string]corev1.PodTemplateSpec{}
	if err := s.Members[member].Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-database"}, set); err != nil {
		t.Fatal(err)
	}
	templates["database"] = set.Spec.Template
	for _, name := range []string{"backend", "frontend"} {
		workload := &appsv1.Deployment{}
		if err := s.Members[member].Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-" + name}, workload); err != nil {
			t.Fatal(err)
		}
		templates[name] = workload.Spec.Template
	}
	return templates
}

// expectBuild fails unless all workloads of the members have the pods of the next build, or none.
func (s *suite) expectBuild(t *testing.T, app *v1.EcommerceApp, when string, want map[string]bool) {
	t.Helper()
	for member, is := range want {
		for name, template := range s.templatesIn(t, app, member) {
			got := slices.ContainsFunc(template.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == buildVariable })
			if got != is {
				t.Errorf("%s: %s in %s has pods of the next build: %t, want %t", when, name, member, got, is)
			}
		}
	}
}

// awaitRendering blocks until the rollout of the next build's pod templates has a state.
func (s *suite) awaitRendering(t *testing.T, app *v1.EcommerceApp, state v1.RolloutState, region string) {
	t.Helper()
	want := nextVersion(t)
	s.AwaitApp(t, app, fmt.Sprintf("the pod templates to be %s %s", state, region), func(status *v1.EcommerceAppStatus) error {
		if r := status.Rendering; r == nil || r.State != state || r.Revision != want || region != "" && r.Region != region {
			return fmt.Errorf("%w: %+v", errRollout, r)
		}
		return nil
	})
}

// testTemplates upgrades the hub to a build with other pod templates, and follows them through the clusters.
func (s *suite) testTemplates(t *testing.T) {
	app := small("templates", memberNames()...)
	app.Spec.Database = &v1.Database{Engine: v1.EnginePostgreSQL, Version: "17.2", Storage: "1Gi"}
	app.Spec.Backend = v1.Workload{Image: "backend:v1", Replicas: new(int32(1))}
	second := &metav1.Duration{Duration: time.Second}
	app.Spec.Rollout = &v1.Rollout{Order: []string{us, eu}, Soak: second, Approval: v1.ApprovalBetweenRegions}
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, asia, us)
	s.awaitRollout(t, app, v1.RolloutComplete, 1)
	s.annotate(t, app, v1.RolloutPausedAnnotation, "true")
	before := map[string]map[string]corev1.PodTemplateSpec{}
	for _, member := range memberNames() {
		before[member] = s.templatesIn(t, app, member)
	}

	s.StopHub()
	s.templates = &controller.Templates{Version: strconv.FormatInt(nextVersion(t), 10), Render: nextBuild}
	s.StartHub(t)
	s.awaitRendering(t, app, v1.RolloutPaused, "")
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Frontend.Replicas = new(int32(2)) })
	s.AwaitApp(t, app, "the scale", func(status *v1.EcommerceAppStatus) error {
		if status.ObservedGeneration != app.Generation || status.Replicas != 2 || status.Phase != v1.PhaseRunning {
			return fmt.Errorf("%w: %s, %d replicas", errRollout, status.Phase, status.Replicas)
		}
		return nil
	})
	for _, member := range memberNames() {
		if diff := cmp.Diff(before[member], s.templatesIn(t, app, member)); diff != "" {
			t.Errorf("pods in %s are replaced by the upgrade and a scale (-before +after):\n%s", member, diff)
		}
	}

	s.annotate(t, app, v1.RolloutPausedAnnotation, "")
	s.awaitRendering(t, app, v1.RolloutWaitingForApproval, eu)
	s.expectBuild(t, app, "in the first region", map[string]bool{"asia-1": false, "eu-1": false, "us-1": true})
	cli := func(args ...string) framework.Outcome {
		return framework.CLI(t, s.Fleet.Hub(), append(args, app.Name, "-n", app.Namespace)...)
	}
	cli("status").Want(t, framework.Done, "WaitingForApproval, 1 of 3 clusters have it: waiting for approval of eu-west-1; pods of an earlier version in asia-1, eu-1.")
	cli("rollout", "approve").Want(t, framework.Done, "templates approved")
	s.awaitRendering(t, app, v1.RolloutWaitingForApproval, asia)
	s.expectBuild(t, app, "after the approval", map[string]bool{"asia-1": false, "eu-1": true, "us-1": true})
	cli("rollout", "render-now").Want(t, framework.Done, "templates replacing pods")
	s.awaitRendering(t, app, v1.RolloutComplete, "")
	s.AwaitApp(t, app, "all pods to be replaced", func(status *v1.EcommerceAppStatus) error {
		if i := slices.IndexFunc(status.Clusters, func(c v1.ClusterStatus) bool { return c.HeldTemplates || !c.Ready }); i >= 0 {
			return fmt.Errorf("%w: %s", errRollout, status.Clusters[i].Name)
		}
		return nil
	})
	s.expectBuild(t, app, "in the end", map[string]bool{"asia-1": true, "eu-1": true, "us-1": true})
	cli("rollout", "render-now").Want(t, framework.Failed, "no cluster waits to replace pods of an earlier version")

	s.Delete(t, app)
	s.templates = nil
	s.RestartHub(t)
}
