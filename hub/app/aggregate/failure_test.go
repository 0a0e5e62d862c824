package aggregate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// leftBehind means that the rollout leaves a cluster behind, and denied that a Secret cannot be written beside its copy.
func leftBehind(c *Cluster) { c.LeftBehind = "no 9" }
func denied(c *Cluster) {
	c.PropagationFailure = &Failure{Reason: v1.ReasonForbidden, Message: "denied"}
}
func away(c *Cluster) { c.PropagationFailure = &Failure{Reason: v1.ReasonApplyFailed, Message: "away"} }

// TestFailuresOfOneCluster checks that an entry says all that could not be written in a cluster, that which waits for a
// user first, and that the condition Propagated is about what is beside the copy alone.
func TestFailuresOfOneCluster(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options []func(*Cluster)
		// entry has the phase, the reason and the message of the entry, and propagated the reason of the condition.
		entry, propagated string
	}{
		"a refused copy, and a Secret":          {[]func(*Cluster){failing(v1.ReasonUpgradeRefused), denied}, "Failed UpgradeRefused because; denied", v1.ReasonForbidden},
		"it is left behind, and a Secret":       {[]func(*Cluster){leftBehind, denied}, "Failed UpgradeRefused no 9; denied", v1.ReasonForbidden},
		"it is left behind":                     {[]func(*Cluster){leftBehind}, "Failed UpgradeRefused no 9", v1.ReasonPropagated},
		"it is left behind, after a conflict":   {[]func(*Cluster){failing(v1.ReasonApplyFailed), leftBehind}, "Failed UpgradeRefused no 9; because", v1.ReasonPropagated},
		"a Secret":                              {[]func(*Cluster){denied}, "Failed Forbidden denied", v1.ReasonForbidden},
		"a Secret waits for a user, and a copy": {[]func(*Cluster){failing(v1.ReasonApplyFailed), denied}, "Failed Forbidden denied; because", v1.ReasonForbidden},
		"a contended copy, and a Secret":        {[]func(*Cluster){failing(v1.ReasonFieldManagerConflict), denied}, "Failed Forbidden denied; because", v1.ReasonForbidden},
		"one cause":                             {[]func(*Cluster){failing(v1.ReasonForbidden), denied, func(c *Cluster) { c.PropagationFailure.Message = "because" }}, "Failed Forbidden because", v1.ReasonForbidden},
		"nothing waits for a user":              {[]func(*Cluster){failing(v1.ReasonApplyFailed), away}, "Running  ", v1.ReasonApplyFailed},
		"nor before the copy is current":        {[]func(*Cluster){failing(v1.ReasonApplyFailed), away, func(c *Cluster) { c.Copy.Generation++ }}, "Updating ApplyFailed because; away", v1.ReasonApplyFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(member("a", append([]func(*Cluster){running}, tt.options...)...))
			in.Propagated = &metav1.Condition{Type: v1.ConditionPropagated, Status: metav1.ConditionTrue, Reason: v1.ReasonPropagated}
			next := Compute(in)
			e := next.Clusters[0]
			if diff := cmp.Diff(tt.entry, string(e.Phase)+" "+e.Reason+" "+e.Message); diff != "" || e.Stalled != (e.Phase == v1.PhaseFailed) {
				t.Errorf("stalled %t, entry (-want +got):\n%s", e.Stalled, diff)
			}
			if c := meta.FindStatusCondition(next.Conditions, v1.ConditionPropagated); c.Reason != tt.propagated {
				t.Errorf("Propagated is %s: %s", c.Status, c.Reason)
			}
			in.Previous, in.Now = next, at(9)
			if diff := cmp.Diff(next, Compute(in)); diff != "" {
				t.Errorf("the status changes without a cause:\n%s", diff)
			}
		})
	}
}

// TestLongFailures checks that no message of several takes the place of another one.
func TestLongFailures(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", maxMessage)
	c := member("a", running, failing(v1.ReasonForbidden), leftBehind, denied)
	c.Failure.Message, c.LeftBehind, c.PropagationFailure.Message = "copy "+long, "refused "+long, "beside "+long
	got := joined(c.failures())
	for _, part := range []string{"copy ", "; refused ", "; beside "} {
		if !strings.Contains(got, part) {
			t.Errorf("it lacks %q: %s", part, got)
		}
	}
	if strings.Count(got, "...") != len(c.failures()) || len(got) > maxMessage {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
