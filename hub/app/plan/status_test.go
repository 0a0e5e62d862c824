package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/placement"
)

func TestMoves(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		result placement.Result
		runs   bool
		want   v1.PlannedMove
	}{
		"new":                {placement.Result{Decision: placement.Chosen}, false, v1.PlannedJoins},
		"kept":               {placement.Result{Decision: placement.Chosen}, true, ""},
		"never":              {placement.Result{Decision: placement.Rejected}, false, ""},
		"left":               {placement.Result{Decision: placement.Rejected}, true, v1.PlannedLeaves},
		"left when replaced": {placement.Result{Decision: placement.Stays, Reason: v1.ReasonReplacementPending}, true, v1.PlannedLeaves},
		"held by its data":   {placement.Result{Decision: placement.Stays, Reason: v1.ReasonDataStays}, true, ""},
	} {
		if got := moveOf(tt.result, tt.runs); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestStatus merges decisions and answers of clusters.
func TestStatus(t *testing.T) {
	t.Parallel()
	update := v1.PlannedChange{Kind: "Deployment", Name: "shop", Action: "Update", Fields: []string{"spec.replicas: 1 -> 2"}}
	refuse := v1.PlannedChange{Kind: "Service", Name: "shop", Action: v1.PlannedRefuse, Reason: v1.ReasonConflict}
	before := &v1.EcommerceApp{}
	before.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1"}, {Name: "us-1"}, {Name: "asia-1", Phase: v1.PhaseDeleting}}
	before.Status.Rendering = &v1.RolloutStatus{Revision: 2, State: v1.RolloutPaused, Total: 2}
	got := statusOf(answers{
		before: before, application: &update,
		placed: Placed{App: before, Problem: "one is missing", Results: []placement.Result{
			{Cluster: "asia-1", Decision: placement.Chosen}, {Cluster: "eu-1", Decision: placement.Chosen},
			{Cluster: "spare", Decision: placement.Rejected, Reason: v1.ReasonNotSelected}, {Cluster: "us-1", Decision: placement.Rejected, Reason: v1.ReasonCordoned},
		}},
		clusters: map[string]inCluster{
			"asia-1": {unknown: v1.ReasonClusterUnreachable, message: "away"}, "eu-1": {changes: []v1.PlannedChange{update, refuse}, paused: true},
			"us-1": {changes: []v1.PlannedChange{{Kind: "EcommerceApp", Name: "shop", Action: "Delete"}}},
		},
	})
	want := v1.PlanStatus{
		Application: &update, Problem: "one is missing", Rendering: "Version 2 of the pod templates: Paused, 0 of 2 clusters have it.",
		Counts: v1.PlanCounts{Clusters: 4, Chosen: 2, Unknown: 1, Changes: v1.ChangeCounts{Update: 1, Delete: 1, Refuse: 1}},
		Waves:  []v1.PlannedWave{{Clusters: []string{"eu-1", "us-1"}}},
		Clusters: []v1.PlannedCluster{
			{Name: "asia-1", Decision: "Chosen", Move: v1.PlannedJoins, Unknown: v1.ReasonClusterUnreachable, UnknownMessage: "away"},
			{Name: "eu-1", Decision: "Chosen", Paused: true, Counts: v1.ChangeCounts{Update: 1, Refuse: 1}, Changes: []v1.PlannedChange{update, refuse}},
			{Name: "spare", Decision: "Rejected", Reason: v1.ReasonNotSelected},
			{
				Name: "us-1", Decision: "Rejected", Move: v1.PlannedLeaves, Reason: v1.ReasonCordoned, Counts: v1.ChangeCounts{Delete: 1},
				Changes: []v1.PlannedChange{{Kind: "EcommerceApp", Name: "shop", Action: "Delete"}},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestStatusIsBounded checks that the largest fleet with the largest changes fits in an object, with all counts, and
// clusters that are concerned are listed before others.
func TestStatusIsBounded(t *testing.T) {
	t.Parallel()
	large := make([]v1.PlannedChange, 150)
	for i := range large {
		large[i] = v1.PlannedChange{Kind: "Deployment", Name: fmt.Sprint("d", i), Action: "Update"}
		for range 10 {
			large[i].Fields = append(large[i].Fields, strings.Repeat("f", 256))
		}
	}
	a := answers{placed: Placed{App: &v1.EcommerceApp{}}, clusters: map[string]inCluster{}}
	for i := range 500 {
		result := placement.Result{Cluster: fmt.Sprintf("c%03d", i), Decision: placement.Rejected, Reason: strings.Repeat("r", 100), Message: strings.Repeat("m", 1000)}
		if i >= 350 {
			result.Decision = placement.Chosen
			a.clusters[result.Cluster] = inCluster{changes: large, message: strings.Repeat("m", 1000)}
		}
		a.placed.Results = append(a.placed.Results, result)
	}
	got := statusOf(a)
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 900<<10 {
		t.Errorf("%d bytes", len(raw))
	}
	if got.Counts.Clusters != 500 || got.Counts.Chosen != 150 || got.Counts.Changes.Update != 150*150 || len(got.Clusters) != v1.MaxPlannedClusters || len(got.Waves[0].Clusters) != 150 {
		t.Errorf("%+v, %d clusters", got.Counts, len(got.Clusters))
	}
	chosen := 0
	for i := range got.Clusters {
		c := &got.Clusters[i]
		if c.Decision == "Chosen" {
			chosen++
		}
		if len(c.Changes) > v1.MaxPlannedChanges || len(c.Message) > 512 || len(c.Reason) > 64 || c.Decision == "Chosen" && c.Counts.Update != 150 {
			t.Errorf("%s: %d changes of %d", c.Name, len(c.Changes), c.Counts.Update)
		}
	}
	if chosen != 150 {
		t.Errorf("%d of 150 clusters that are concerned are listed", chosen)
	}
}

func TestApplicationChange(t *testing.T) {
	t.Parallel()
	app := func(image string, annotations map[string]string) *v1.EcommerceApp {
		return &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: annotations}, Spec: v1.EcommerceAppSpec{Image: image}}
	}
	for name, tt := range map[string]struct {
		before, after *v1.EcommerceApp
		want          *v1.PlannedChange
	}{
		"new":       {nil, app("v1", nil), &v1.PlannedChange{Kind: "EcommerceApp", Name: "shop", Action: "Create"}},
		"unchanged": {app("v1", map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}), app("v1", nil), nil},
		"image":     {app("v1", nil), app("v2", nil), &v1.PlannedChange{Kind: "EcommerceApp", Name: "shop", Action: "Update", Fields: []string{"spec.image: v1 -> v2"}}},
		"annotation": {app("v1", map[string]string{"a": "1"}), app("v1", map[string]string{"b": "2"}), &v1.PlannedChange{
			Kind: "EcommerceApp", Name: "shop", Action: "Update", Fields: []string{"metadata.annotations[a]: 1 -> none", "metadata.annotations[b]: none -> 2"},
		}},
	} {
		got, err := applicationChange(tt.before, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
