package printers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

func TestPlan(t *testing.T) {
	status := &v1.PlanStatus{
		Application: &v1.PlannedChange{Kind: "EcommerceApp", Name: "shop", Action: "Update", Fields: []string{"spec.image: v1 -> v2"}},
		Counts:      v1.PlanCounts{Clusters: 4, Unknown: 1, Changes: v1.ChangeCounts{Create: 1, Update: 3, Refuse: 1}},
		Waves:       []v1.PlannedWave{{Clusters: []string{"eu-1"}}, {Clusters: []string{"us-1", "us-2"}, NotServing: []string{"us-2"}}},
		Rendering:   "Version 2 of the pod templates: Progressing, 1 of 3 clusters have it: waiting for eu-1.",
		Clusters: []v1.PlannedCluster{
			{
				Name: "eu-1", Decision: "Chosen", Message: "it matches", Paused: true, Counts: v1.ChangeCounts{Create: 1, Update: 3, Refuse: 1},
				Changes: []v1.PlannedChange{
					{Kind: "Namespace", Name: "production", Action: "Create"},
					{Kind: "Deployment", Name: "shop", Action: "Update", Fields: []string{"spec.image: v1 -> v2"}},
					{Kind: "Service", Name: "shop", Action: v1.PlannedRefuse, Reason: "Conflict", Message: "it exists"},
				},
			},
			{Name: "spare", Decision: "Rejected", Reason: v1.ReasonNotSelected, Message: "no"},
			{Name: "us-1", Decision: "Chosen", Move: v1.PlannedJoins, Message: "it matches", Unknown: "ClusterUnreachable", UnknownMessage: "away"},
		},
	}
	const want = `--- EcommerceApp p/shop on the hub
+++ EcommerceApp p/shop planned
@@ update EcommerceApp/shop @@
-spec.image: v1
+spec.image: v2

CLUSTER   DECISION   MOVE    CHANGES                        REASON        MESSAGE
eu-1      Chosen     -       1 create, 3 update, 1 refuse   -             it matches
spare     Rejected   -       -                              NotSelected   no
us-1      Chosen     Joins   unknown                        -             it matches
1 more    -          -       -                              -             -

Wave 1: eu-1
Wave 2: us-1, us-2 (serving no customers, and not waited for: us-2)

Version 2 of the pod templates: Progressing, 1 of 3 clusters have it: waiting for eu-1.

--- EcommerceApp p/shop in eu-1
+++ EcommerceApp p/shop planned
# paused: the changes are held back
+Namespace/production
@@ update Deployment/shop @@
-spec.image: v1
+spec.image: v2
! Service/shop is refused: Conflict: it exists
# 2 more, which the plan does not list

--- EcommerceApp p/shop in us-1
+++ EcommerceApp p/shop planned
? not known: ClusterUnreachable: away

Changes in clusters: 1 create, 3 update, 1 refuse. Clusters whose changes are not all known: 1.
`
	if diff := cmp.Diff(want, printers.Plan("EcommerceApp p/shop", status, false)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if got := printers.Plan("EcommerceApp p/shop", &v1.PlanStatus{}, false); got != "\nNo changes in clusters.\n" {
		t.Errorf("an empty plan: %q", got)
	}
}

// TestPlanWithoutPlacement says that an application runs everywhere.
func TestPlanWithoutPlacement(t *testing.T) {
	everywhere := &v1.PlanStatus{Counts: v1.PlanCounts{Chosen: 12}}
	if got, want := printers.Plan("EcommerceApp p/shop", everywhere, true), "\nNo placement: runs in all 12 ready clusters.\n\nNo changes in clusters.\n"; got != want {
		t.Errorf("without a placement: %q, want %q", got, want)
	}
}
