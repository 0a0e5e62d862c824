package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// upgraded returns an application in two clusters that have the pod templates of an earlier version, and what is
// observed of it after an upgrade of the hub.
func upgraded(change func(*v1.EcommerceApp, *observation)) (*v1.EcommerceApp, *observation) {
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	in := &observation{Input: aggregate.Input{Generation: 1, Now: metav1.NewTime(time.Unix(1000, 0)), Chosen: []string{"a", "b"}}}
	for _, name := range in.Chosen {
		in.Previous.Clusters = append(in.Previous.Clusters, v1.ClusterStatus{Name: name, Region: "r", RenderingVersion: "0", AppliedGeneration: 1})
		status := v1.EcommerceAppStatus{RenderingVersion: render.Version, HeldTemplates: []string{"database"}}
		status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonRunning, ObservedGeneration: 1}}
		in.Clusters = append(in.Clusters, aggregate.Cluster{
			Name: name, Region: "r", Connection: aggregate.Connected,
			Copy: &aggregate.Copy{Generation: 1, HubGeneration: 1, Rendering: "0", Status: status},
		})
	}
	if change != nil {
		change(app, in)
	}
	return app, in
}

// TestRenderingOfClusters: the status says which version of pod templates each cluster may have.
func TestRenderingOfClusters(t *testing.T) {
	t.Parallel()
	const first, second, next = "0", "0", render.Version
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp, *observation)
		want   [2]string
	}{
		"one after the other":  {nil, [2]string{next, second}},
		"a paused application": {func(_ *v1.EcommerceApp, in *observation) { in.Paused = true }, [2]string{first, second}},
		"a paused cluster":     {func(_ *v1.EcommerceApp, in *observation) { in.Clusters[0].Paused = true }, [2]string{first, next}},
		"a paused rollout": {func(a *v1.EcommerceApp, _ *observation) {
			a.Spec.Rollout, a.Annotations[v1.RolloutPausedAnnotation] = &v1.Rollout{}, "true"
		}, [2]string{first, second}},
		"a rollout in progress": {func(a *v1.EcommerceApp, in *observation) {
			a.Spec.Rollout, in.Rollout = &v1.Rollout{}, &v1.RolloutStatus{State: v1.RolloutProgressing}
		}, [2]string{first, second}},
		"a rollout that is complete": {func(a *v1.EcommerceApp, in *observation) {
			a.Spec.Rollout, in.Rollout = &v1.Rollout{}, &v1.RolloutStatus{State: v1.RolloutComplete}
		}, [2]string{next, second}},
		"a security fix":           {func(a *v1.EcommerceApp, _ *observation) { a.Annotations[v1.RenderNowAnnotation] = next }, [2]string{next, next}},
		"a fix of another version": {func(a *v1.EcommerceApp, _ *observation) { a.Annotations[v1.RenderNowAnnotation] = "7" }, [2]string{next, second}},
		"one that is updated": {func(_ *v1.EcommerceApp, in *observation) {
			in.Previous.Clusters[0].RenderingVersion, in.Previous.Clusters[0].RenderingStartTime = next, &in.Now
		}, [2]string{next, second}},
		"one that the copy is yet to get": {func(_ *v1.EcommerceApp, in *observation) {
			in.Previous.Clusters[0].RenderingVersion, in.Previous.Clusters[0].RenderingStartTime = next, &in.Now
			in.Clusters[0].Copy.Status.HeldTemplates = nil
		}, [2]string{next, second}},
		"one that is ready": {func(_ *v1.EcommerceApp, in *observation) {
			in.Previous.Clusters[0].RenderingVersion, in.Previous.Clusters[0].RenderingStartTime = next, &in.Now
			in.Clusters[0].Copy.Rendering, in.Clusters[0].Copy.Status.HeldTemplates = next, nil
		}, [2]string{next, next}},
		"a status that was lost": {func(_ *v1.EcommerceApp, in *observation) {
			in.Previous.Clusters[0].RenderingVersion = ""
			in.Clusters[0].Copy.Rendering = next
		}, [2]string{next, next}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, in := upgraded(tt.change)
			in.planRendering(app)
			var got [2]string
			for i, entry := range aggregate.Compute(in.Input).Clusters {
				got[i] = entry.RenderingVersion
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRenderingIsReported: the status says where pods of an earlier version run, and where they are being replaced.
func TestRenderingIsReported(t *testing.T) {
	t.Parallel()
	app, in := upgraded(nil)
	in.planRendering(app)
	entries := aggregate.Compute(in.Input).Clusters
	want := []v1.ClusterStatus{
		{Name: "a", RenderingVersion: render.Version, RenderingStartTime: &in.Now, HeldTemplates: true},
		{Name: "b", RenderingVersion: "0", HeldTemplates: true},
	}
	rest := cmpopts.IgnoreFields(v1.ClusterStatus{}, "Region", "Phase", "Ready", "Available", "Reason", "Message", "AppliedGeneration", "LastObservedTime", "Components")
	if diff := cmp.Diff(want, entries, rest); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
}
