package framework

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp)
		want   bool
	}{
		"at its generation":         {func(*v1.EcommerceApp) {}, true},
		"at a generation before":    {func(app *v1.EcommerceApp) { app.Generation++ }, false},
		"a condition is behind":     {func(app *v1.EcommerceApp) { app.Status.Conditions[0].ObservedGeneration-- }, false},
		"one cluster is behind":     {func(app *v1.EcommerceApp) { app.Status.Clusters[1].AppliedGeneration-- }, false},
		"a restart is asked for":    {func(app *v1.EcommerceApp) { app.Annotations = map[string]string{v1.ImageUpdatedAnnotation: "true"} }, false},
		"in another phase":          {func(app *v1.EcommerceApp) { app.Status.Phase = v1.PhaseUpdating }, false},
		"a region is not complete":  {func(app *v1.EcommerceApp) { app.Status.Regions[0].ReadyClusters-- }, false},
		"a region runs beside them": {func(app *v1.EcommerceApp) { app.Status.Regions[1].Name = "elsewhere" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := running()
			tt.change(app)
			if err := Runs(app, "eu", "us"); (err == nil) != tt.want {
				t.Errorf("got error %v, want none: %t", err, tt.want)
			}
		})
	}
}

// running returns an application that runs in two regions at generation 2.
func running() *v1.EcommerceApp {
	region := func(name string) v1.RegionStatus {
		return v1.RegionStatus{Name: name, Phase: v1.PhaseRunning, Clusters: 1, ReadyClusters: 1}
	}
	return &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Status: v1.EcommerceAppStatus{
			Phase: v1.PhaseRunning, ObservedGeneration: 2,
			Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 2}},
			Regions:    []v1.RegionStatus{region("eu"), region("us")},
			Clusters:   []v1.ClusterStatus{{Name: "eu-1", AppliedGeneration: 2}, {Name: "us-1", AppliedGeneration: 2}},
		},
	}
}
