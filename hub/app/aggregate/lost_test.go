package aggregate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// createdDatabase gives a copy a database that was created, and lostDatabase one whose data is lost.
func createdDatabase(c *Cluster) { c.Copy.Status.DatabaseCreated = true }

func lostDatabase(c *Cluster) {
	reporting(v1.PhaseFailed)(c)
	c.Copy.Status.Conditions[0].Reason = v1.ReasonDatabaseLost
	for _, kind := range []string{v1.ConditionDatabaseLost, v1.ConditionStalled, v1.ConditionDegraded} {
		says(kind, v1.ReasonDatabaseLost)(c)
	}
	createdDatabase(c)
}

// TestDatabaseLost checks that the application says in which clusters the data is lost, for as long as it is, and the
// entry of a cluster keeps that there was a database.
func TestDatabaseLost(t *testing.T) {
	t.Parallel()
	both := input(member("a", running, createdDatabase), member("b", running, createdDatabase))
	inB := with(after(both, 1), "b", lostDatabase)
	newer := with(edited(inB), "b", func(c *Cluster) { c.Copy.HubGeneration = 2 })
	for name, tt := range map[string]lossCase{
		"none":                      {both, "", "a,b", 1},
		"in one":                    {inB, "b", "a,b", 1},
		"in one, with a newer spec": {newer, "b", "a,b", 2},
		"out of reach":              {with(after(inB, 2), "b", lost), "b", "a,b", 1},
		"restored":                  {with(after(inB, 2), "b", running, createdDatabase), "", "a,b", 1},
		"the status of a copy is lost": {
			with(after(both, 1), "b", running), "", "a,b", 1,
		},
		"the copy is lost":   {with(after(both, 1), "b", func(c *Cluster) { c.Copy = nil }), "", "a,b", 0},
		"leaving":            {unchosen(after(inB, 2)), "", "a,b", 1},
		"never had one":      {input(member("a", running), member("b", running)), "", "", 1},
		"the app is deleted": {deleting(after(inB, 2)), "", "a,b", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Compute(tt.in)
			tt.check(t, got)
			if is := meta.IsStatusConditionTrue(got.Conditions, v1.ConditionStalled); is != (tt.lost != "") && name != "out of reach" {
				t.Errorf("Stalled is %t", is)
			}
			checkSettled(t, tt.in, got)
		})
	}
}

// lossCase is an input with two clusters, and where the data is lost, where a database was created, and which
// generation the second cluster has.
type lossCase struct {
	in            Input
	lost, created string
	applied       int64
}

func (c lossCase) check(t *testing.T, got v1.EcommerceAppStatus) {
	t.Helper()
	var isLost, created []string
	for _, entry := range got.Clusters {
		if entry.DatabaseLost {
			isLost = append(isLost, entry.Name)
		}
		if entry.DatabaseCreated {
			created = append(created, entry.Name)
		}
	}
	if strings.Join(isLost, ",") != c.lost || strings.Join(created, ",") != c.created {
		t.Errorf("lost in %v, created in %v", isLost, created)
	}
	if b := byName(got.Clusters)["b"]; b.AppliedGeneration != c.applied {
		t.Errorf("generation %d is applied, want %d", b.AppliedGeneration, c.applied)
	}
	condition := meta.FindStatusCondition(got.Conditions, v1.ConditionDatabaseLost)
	if c.lost == "" {
		if condition != nil {
			t.Errorf("the condition is %+v", condition)
		}
		return
	}
	if condition == nil || condition.Status != metav1.ConditionTrue || !strings.HasSuffix(condition.Message, "in 1 of 2 clusters: b") {
		t.Errorf("the condition is %+v", condition)
	}
	if meta.IsStatusConditionTrue(got.Conditions, v1.ConditionAvailable) || !meta.IsStatusConditionTrue(got.Conditions, v1.ConditionDegraded) {
		t.Errorf("%+v", got.Conditions)
	}
}
