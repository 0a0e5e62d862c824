package aggregate

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestStoredAsApplied checks that an application has the condition while the copy of a cluster that it is placed
// on has it, and until the copies are known not to.
func TestStoredAsApplied(t *testing.T) {
	t.Parallel()
	changed := func(c *Cluster) {
		c.Copy.Status.Conditions = append(c.Copy.Status.Conditions, metav1.Condition{
			Type: v1.ConditionStoredAsApplied, Status: metav1.ConditionFalse, Message: "image x in place of y",
		})
	}
	in := with(everywhere(), "a", changed)
	const one = "in 1 of 2 clusters; a: image x in place of y"
	for name, tt := range map[string]struct {
		in   Input
		want string
	}{
		"nowhere":                {everywhere(), ""},
		"in one":                 {in, one},
		"in both":                {with(in, "b", changed), "in 2 of 2 clusters; a: image x in place of y"},
		"while out of reach":     {with(after(in, 1), "a", lost), one},
		"until it is lifted":     {with(after(in, 1), "a", running), ""},
		"in the one that leaves": {unchosen(after(with(everywhere(), "b", changed), 1)), ""},
		"being deleted":          {deleting(after(in, 1)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Compute(tt.in)
			c := meta.FindStatusCondition(got.Conditions, v1.ConditionStoredAsApplied)
			if (c == nil) != (tt.want == "") || c != nil && (c.Message != tt.want || c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonChangedByAdmission) {
				t.Errorf("the condition is %+v, want %q", c, tt.want)
			}
			if ready := meta.IsStatusConditionTrue(got.Conditions, v1.ConditionReady); name == "in one" && !ready {
				t.Error("the application is not ready")
			}
			checkSettled(t, tt.in, got)
		})
	}
}
