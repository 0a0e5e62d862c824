package aggregate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestHandledReconcileAt checks that all chosen clusters must have handled the token, and the others need not.
func TestHandledReconcileAt(t *testing.T) {
	t.Parallel()
	in := input(member("a", running), member("b", running))
	in.Chosen, in.ReconcileAt, in.Previous.LastHandledReconcileAt = []string{"b"}, "now", "before"
	if got := handledReconcileAt(in); got != "before" {
		t.Errorf("handled %q before the cluster has", got)
	}
	in.Clusters[1].Copy.Status.LastHandledReconcileAt = "now"
	if got := handledReconcileAt(in); got != "now" {
		t.Errorf("handled %q", got)
	}
}

// TestLongestLag checks that the longest lag counts, wherever it is in the list.
func TestLongestLag(t *testing.T) {
	t.Parallel()
	for want, lags := range map[int64][]int64{3: {1, 3, 2}, 4: {4, 1}, 5: {5, 5}} {
		var replicas []v1.DatabaseReplica
		for _, lag := range lags {
			replicas = append(replicas, v1.DatabaseReplica{}, v1.DatabaseReplica{LagSeconds: &lag})
		}
		if got := longestLag(replicas); got == nil || *got != want {
			t.Errorf("%v: %v", lags, got)
		}
	}
}

// TestDescribe checks that a message names few clusters, and says how many there are beside them.
func TestDescribe(t *testing.T) {
	t.Parallel()
	entries := make([]v1.ClusterStatus, maxNamed+2)
	for i := range entries {
		entries[i] = v1.ClusterStatus{Name: fmt.Sprintf("c%d", i), Reason: v1.ReasonMissing}
	}
	if got := describe(entries); !strings.HasSuffix(got, "; and 2 more") || strings.Contains(got, entries[maxNamed].Name) {
		t.Errorf("%d clusters: %s", len(entries), got)
	}
	if got := describe(entries[:maxNamed]); strings.Contains(got, "more") {
		t.Errorf("%d clusters: %s", maxNamed, got)
	}
}

// TestDegradedAndStalled checks that the reason of Degraded comes before that of Stalled.
func TestDegradedAndStalled(t *testing.T) {
	t.Parallel()
	c := member("a", running, says(v1.ConditionDegraded, v1.ReasonLoginNotConfigured), says(v1.ConditionStalled, v1.ReasonStorageNotExpandable))
	var e v1.ClusterStatus
	if observed(&e, 1, c); !e.Stalled || e.Reason != v1.ReasonLoginNotConfigured {
		t.Errorf("%s, stalled %t", e.Reason, e.Stalled)
	}
}

// TestSetFailures checks that a copy that cannot be written is not ready, and has failed if that waits for a user.
func TestSetFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		phase  v1.Phase
		reason string
		want   v1.Phase
	}{
		"running":             {v1.PhaseRunning, v1.ReasonProgressing, v1.PhaseUpdating},
		"creating":            {v1.PhaseCreating, v1.ReasonProgressing, v1.PhaseCreating},
		"it waits for a user": {v1.PhaseRunning, v1.ReasonConflict, v1.PhaseFailed},
	} {
		e := v1.ClusterStatus{Phase: test.phase, Ready: true}
		if setFailures(&e, []*Failure{{Reason: test.reason}}); e.Phase != test.want || e.Ready || e.Reason != test.reason {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestSort checks that a cluster counts once, by what matters most about it.
func TestSort(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		entry v1.ClusterStatus
		want  string
	}{
		"lost":                 {v1.ClusterStatus{Stale: true, Phase: v1.PhaseFailed, DegradedReason: v1.ReasonMissing}, "lost"},
		"failed":               {v1.ClusterStatus{Phase: v1.PhaseFailed, DegradedReason: v1.ReasonMissing}, "failed"},
		"left, and stalled":    {v1.ClusterStatus{Phase: v1.PhaseDeleting, Stalled: true, DegradedReason: v1.ReasonMissing}, "failed"},
		"left, with a reason":  {v1.ClusterStatus{Phase: v1.PhaseDeleting, Reason: v1.ReasonConflict}, "failed"},
		"left":                 {v1.ClusterStatus{Phase: v1.PhaseDeleting}, "waiting"},
		"paused":               {v1.ClusterStatus{Phase: v1.PhasePaused, Ready: true}, "paused"},
		"paused while left":    {v1.ClusterStatus{Phase: v1.PhaseDeleting, Reason: v1.ReasonPaused}, "paused"},
		"waiting":              {v1.ClusterStatus{Phase: v1.PhaseUpdating}, "waiting"},
		"ready":                {v1.ClusterStatus{Phase: v1.PhaseRunning, Ready: true}, ""},
		"ready and degraded":   {v1.ClusterStatus{Phase: v1.PhaseRunning, Ready: true, DegradedReason: v1.ReasonMissing}, "impaired"},
		"waiting and degraded": {v1.ClusterStatus{Phase: v1.PhaseUpdating, DegradedReason: v1.ReasonMissing}, "impaired waiting"},
	} {
		var s summary
		s.sort(test.entry)
		var got []string
		for kind, entries := range map[string]int{"lost": len(s.lost), "failed": len(s.failed), "paused": len(s.paused), "waiting": len(s.waiting), "impaired": len(s.impaired)} {
			if entries > 0 {
				got = append(got, kind)
			}
		}
		slices.Sort(got)
		if kinds := strings.Join(got, " "); kinds != test.want {
			t.Errorf("%s: it counts as %q, want %q", name, kinds, test.want)
		}
	}
}

// TestSetFacts checks that a cluster that names held templates has some.
func TestSetFacts(t *testing.T) {
	t.Parallel()
	for _, templates := range [][]string{nil, {frontend}} {
		var e v1.ClusterStatus
		if setFacts(&e, v1.EcommerceAppStatus{HeldTemplates: templates}); e.HeldTemplates != (len(templates) > 0) {
			t.Errorf("%q: held templates: %t", templates, e.HeldTemplates)
		}
	}
}
