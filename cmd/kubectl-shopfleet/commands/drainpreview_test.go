package commands

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestDrainPreview: a dry run says of each application in the member whether it would leave, and of its data.
func TestDrainPreview(t *testing.T) {
	t.Parallel()
	apps := func() []v1.EcommerceApp {
		return []v1.EcommerceApp{
			drainedApp("both", nil, "eu-1", "us-1"),
			drainedApp("bound", func(s *v1.EcommerceAppSpec) { s.Placement.ClusterNames = []string{"eu-1"} }, "eu-1"),
			drainedApp("data", func(s *v1.EcommerceAppSpec) { s.Database = &v1.Database{} }, "eu-1", "us-1"),
			drainedApp("elsewhere", nil, "us-1"),
			drainedApp("one", func(s *v1.EcommerceAppSpec) { s.Placement.MaxClusters = 1 }, "eu-1"),
		}
	}
	for name, tt := range map[string]struct {
		moveEmpty bool
		names     []string
		want      map[string][2]string
	}{
		"with their data": {false, []string{"eu-1"}, map[string][2]string{
			"both": {drainLeaves, ""}, "bound": {drainStays, v1.ReasonNoOtherCluster}, "data": {drainStays, v1.ReasonDataStays},
			"one": {drainLeaves, v1.ReasonReplacementPending},
		}},
		"without it": {true, []string{"eu-1"}, map[string][2]string{
			"both": {drainLeaves, ""}, "bound": {drainStays, v1.ReasonNoOtherCluster}, "data": {drainLeavesEmpty, ""},
			"one": {drainLeaves, v1.ReasonReplacementPending},
		}},
		"with the other member": {false, []string{"eu-1", "us-1"}, map[string][2]string{
			"both": {drainStays, v1.ReasonNoOtherCluster}, "bound": {drainStays, v1.ReasonNoOtherCluster}, "data": {drainStays, v1.ReasonDataStays},
			"one": {drainStays, v1.ReasonNoOtherCluster},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &drain{moveEmpty: tt.moveEmpty, names: tt.names}
			d.Program = &Program{clock: testclock.NewFakeClock(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))}
			got := map[string][2]string{}
			for _, row := range d.preview(apps(), []v1.MemberCluster{drainedMember("eu-1"), drainedMember("us-1")}, "eu-1") {
				got[row.Name] = [2]string{row.Drain, row.Reason}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("preview (-want +got):\n%s", diff)
			}
		})
	}
}

// drainedMember returns a member that is ready.
func drainedMember(name string) v1.MemberCluster {
	m := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Status.ClusterUID, m.Status.Region, m.Status.Provider = "u", name[:2], v1.ProviderAWS
	m.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonConnected}}
	return m
}

// drainedApp returns an application that serves customers in clusters.
func drainedApp(name string, change func(*v1.EcommerceAppSpec), clusters ...string) v1.EcommerceApp {
	app := v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name}}
	if change != nil {
		change(&app.Spec)
	}
	for _, c := range clusters {
		app.Status.Clusters = append(app.Status.Clusters, v1.ClusterStatus{
			Name: c, Phase: v1.PhaseRunning, Ready: true, Available: true, Region: c[:2],
		})
	}
	return app
}
