package aggregate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestComponentOfSome checks that a component that is disabled in one cluster has the state of the other clusters.
func TestComponentOfSome(t *testing.T) {
	t.Parallel()
	in := func(phase v1.Phase, ready bool) v1.ClusterStatus {
		return v1.ClusterStatus{Phase: v1.PhaseRunning, Components: []v1.ClusterComponentStatus{{Name: "monitoring", Phase: phase, Ready: ready}}}
	}
	disabled, running, leaving := in(v1.PhaseDisabled, true), in(v1.PhaseRunning, true), in(v1.PhaseFailed, false)
	leaving.Phase = v1.PhaseDeleting
	for name, test := range map[string]struct {
		clusters []v1.ClusterStatus
		want     v1.ComponentStatus
	}{
		"nowhere":  {nil, v1.ComponentStatus{Phase: v1.PhasePending, Reason: v1.ReasonWaitingForClusters}},
		"disabled": {[]v1.ClusterStatus{disabled, disabled}, v1.ComponentStatus{Phase: v1.PhaseDisabled, Ready: true, Reason: v1.ReasonDisabled}},
		"in the second": {
			[]v1.ClusterStatus{disabled, running},
			v1.ComponentStatus{Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonRunning, Clusters: 1, ReadyClusters: 1},
		},
		"behind one that leaves": {
			[]v1.ClusterStatus{leaving, running},
			v1.ComponentStatus{Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonRunning, Clusters: 1, ReadyClusters: 1},
		},
	} {
		test.want.Name = "monitoring"
		if diff := cmp.Diff(test.want, componentEntry("monitoring", test.clusters)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestComponentsOfMany checks that components are kept until all clusters are connected, and not longer, if the
// status has no details of each cluster.
func TestComponentsOfMany(t *testing.T) {
	t.Parallel()
	var many []Cluster
	for i := range maxDetailed + 1 {
		many = append(many, member(fmt.Sprintf("c%03d", i), running))
	}
	in := after(input(many...), 1)
	before := in.Previous.Components
	in.Clusters[0].Copy = new(Copy)
	*in.Clusters[0].Copy = Copy{Generation: 1, HubGeneration: 1, Status: copyStatus(v1.PhaseFailed, false)}
	if diff := cmp.Diff(before, Compute(in).Components); diff == "" {
		t.Error("a component that failed in one of many clusters is as before")
	}
	in.Clusters[1].Connection = Connecting
	if diff := cmp.Diff(before, Compute(in).Components); diff != "" {
		t.Errorf("while one is connecting (-before +after):\n%s", diff)
	}
}

// TestSelectorOf checks that /scale has the selector of the last status, or else that of the first cluster by name
// that reports one and is chosen.
func TestSelectorOf(t *testing.T) {
	t.Parallel()
	selecting := func(selector string) func(*Cluster) {
		return func(c *Cluster) { running(c); c.Copy.Status.Selector = selector }
	}
	unchosen := input(member("a", selecting("a")), member("b", selecting("b")))
	unchosen.Chosen = []string{"b"}
	previous := input(member("a", selecting("a")), member("b", selecting("b")))
	previous.Previous.Selector = "b"
	stale := input(member("a", lost), member("b", connectingNow))
	stale.Previous.Selector = "x"
	for name, test := range map[string]struct {
		in   Input
		want string
	}{
		"first by name":     {input(member("b", selecting("b")), member("a", selecting("a")), member("c", selecting("c"))), "a"},
		"not chosen":        {unchosen, "b"},
		"lost":              {input(member("a", selecting("a"), lost), member("b", selecting("b"))), "b"},
		"no copy":           {input(member("a"), member("b", selecting("b"))), "b"},
		"reports none":      {input(member("a", selecting("")), member("b", selecting("b"))), "b"},
		"that of before":    {previous, "b"},
		"nobody reports it": {stale, "x"},
	} {
		if got := selectorOf(test.in); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestComponentsWhileConnecting checks that the components of a very large fleet stay as they were until it is
// connected.
func TestComponentsWhileConnecting(t *testing.T) {
	t.Parallel()
	var in Input
	var entries []v1.ClusterStatus
	for i := range maxDetailed + 1 {
		in.Clusters = append(in.Clusters, member(fmt.Sprintf("c%03d", i), connectingNow))
		entries = append(entries, v1.ClusterStatus{Name: in.Clusters[i].Name, Phase: v1.PhaseRunning})
	}
	in.Previous.Components = []v1.ComponentStatus{{Name: "as before"}}
	if got := componentEntries(in, entries); got[0].Name != "as before" {
		t.Errorf("they are computed again: %+v", got)
	}
	if got := componentEntries(in, entries[1:]); len(got) > 0 && got[0].Name == "as before" {
		t.Error("those of a fleet that is shown in full are not computed")
	}
}

// TestComponentIn checks that a disabled component is ready, wherever it is in the list, and that one without an
// entry is pending.
func TestComponentIn(t *testing.T) {
	t.Parallel()
	c := v1.ClusterStatus{Components: []v1.ClusterComponentStatus{{Name: "database", Phase: v1.PhaseDisabled}, {Name: "backend", Phase: v1.PhaseFailed}, {Name: frontend, Phase: v1.PhaseDisabled}}}
	for name, want := range map[string]v1.Phase{"database": v1.PhaseDisabled, "backend": v1.PhaseFailed, frontend: v1.PhaseDisabled, "ingress": v1.PhasePending} {
		if phase, ready := componentIn(c, name); phase != want || ready != (want == v1.PhaseDisabled) {
			t.Errorf("%s: %s, ready %t", name, phase, ready)
		}
	}
	c.Stale = true
	if phase, _ := componentIn(c, "ingress"); phase != v1.PhaseUnknown {
		t.Errorf("of a cluster that does not respond: %s", phase)
	}
}
