package aggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestPausedMessages: a user reads what waits, in which member, and which field ends that.
func TestPausedMessages(t *testing.T) {
	t.Parallel()
	paused := func(c *Cluster) { c.Paused = true }
	base := func() Input { return edited(with(after(everywhere(), 1), "a", paused)) }
	changed := func(change func(*Input)) Input {
		in := base()
		change(&in)
		return in
	}
	for name, tt := range map[string]struct {
		in        Input
		condition string
		// want is the message of the condition, and entry that of cluster a.
		want, entry string
	}{
		"member": {
			base(), v1.ConditionApplied,
			"0 of 2 clusters are up to date; changes are held back by spec.paused of MemberCluster a",
			"changes are held back by spec.paused of MemberCluster a",
		},
		"application": {
			changed(func(in *Input) { in.Paused, in.Clusters[0].Paused = true, false }), v1.ConditionProgressing,
			"changes are held back by spec.paused of the EcommerceApp",
			"changes are held back by spec.paused of the EcommerceApp",
		},
		"both": {
			changed(func(in *Input) { in.Paused = true }), v1.ConditionReady,
			"changes are held back by spec.paused of the EcommerceApp; 2 of 2 clusters are ready",
			"changes are held back by spec.paused of MemberCluster a",
		},
		"safe mode": {
			changed(func(in *Input) { in.SafeMode = true }), v1.ConditionApplied,
			"0 of 2 clusters are up to date; changes are held back by the hub's safe mode",
			"changes are held back by the hub's safe mode",
		},
		"deletion": {
			deleting(base()), v1.ConditionDeleting,
			"the deletion in a is held back by spec.paused of MemberCluster a; to leave the copies behind, set the annotation ecommerce.io/orphan to true",
			"the deletion of the copy is held back by spec.paused of MemberCluster a",
		},
		"deletion in safe mode": {
			deleting(changed(func(in *Input) { in.SafeMode = true })), v1.ConditionDeleting,
			"the deletion in a is held back by the hub's safe mode; to leave the copies behind, set the annotation ecommerce.io/orphan to true",
			"the deletion of the copy is held back by the hub's safe mode",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Compute(tt.in)
			c := meta.FindStatusCondition(got.Conditions, tt.condition)
			if diff := cmp.Diff([]string{tt.want, tt.entry}, []string{c.Message, got.Clusters[0].Message}); diff != "" {
				t.Errorf("condition and entry (-want +got):\n%s", diff)
			}
			checkSettled(t, tt.in, got)
		})
	}
}
