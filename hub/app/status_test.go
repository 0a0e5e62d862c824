package app

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// TestDelay checks that a status that takes a deletion back is stored at once, as a queue has the order to delete the
// copy.
func TestDelay(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	of := func(phase v1.Phase) v1.EcommerceAppStatus {
		return v1.EcommerceAppStatus{LastUpdated: new(metav1.NewTime(c.Now())), Clusters: []v1.ClusterStatus{{Name: "a", Phase: phase}, {Name: "b", Phase: v1.PhaseRunning}}}
	}
	for name, tt := range map[string]struct {
		last, next v1.EcommerceAppStatus
		atOnce     bool
	}{
		"the deletion is taken back": {of(v1.PhaseDeleting), of(v1.PhaseRunning), true},
		"the deletion goes on":       {of(v1.PhaseDeleting), of(v1.PhaseDeleting), false},
		"the copy is gone":           {of(v1.PhaseDeleting), v1.EcommerceAppStatus{}, false},
		"a deletion begins":          {of(v1.PhaseRunning), of(v1.PhaseDeleting), false},
		"nothing is deleted":         {of(v1.PhaseCreating), of(v1.PhaseRunning), false},
	} {
		r := &Reconciler{clock: c, state: state.New(c), progressPeriod: progressPeriod}
		key := keyOf(shop(1))
		r.state.StatusWritten(key)
		if rest := r.delay(key, tt.last, tt.next); (rest == 0) != tt.atOnce {
			t.Errorf("%s: waits for %s", name, rest)
		}
	}
}
