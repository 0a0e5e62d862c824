package replication

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func observedPod(state v1.ReplicaState, ready bool) Pod {
	return Pod{UID: "a", Ready: ready, Replica: &Replica{history: history{system: "5", timeline: 1, position: 7}}, Status: v1.DatabaseReplica{Name: "a", State: state}}
}

func TestValidFor(t *testing.T) {
	following, starts := observedPod(v1.ReplicaFollowing, true), observedPod(v1.ReplicaFollowing, false)
	good, failed := Observation{Primary: true, Pods: []Pod{following, following}}, Observation{Pods: []Pod{starts}}
	for name, tt := range map[string]struct {
		last, seen Observation
		want       time.Duration
	}{
		"all follow":          {good, good, 5 * time.Minute},
		"one is not ready":    {good, Observation{Primary: true, Pods: []Pod{following, starts}}, time.Minute},
		"one does not follow": {good, Observation{Primary: true, Pods: []Pod{observedPod(v1.ReplicaUnknown, true), following}}, time.Minute},
		"the first fails":     {Observation{}, failed, time.Minute},
		"a command fails":     {good, failed, time.Minute},
		"commands fail":       {failed, failed, 10 * time.Minute},
		"commands work again": {failed, good, 5 * time.Minute},
	} {
		if got := tt.seen.ValidFor(tt.last); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestCurrent(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	seen := Observation{Pods: []Pod{observedPod(v1.ReplicaFollowing, true)}, Due: now.Add(time.Second)}
	for name, tt := range map[string]struct {
		after time.Duration
		pods  []Pod
		want  bool
	}{
		"the same":    {0, []Pod{{UID: "a", Ready: true}}, true},
		"due":         {time.Second, []Pod{{UID: "a", Ready: true}}, false},
		"not ready":   {0, []Pod{{UID: "a"}}, false},
		"another pod": {0, []Pod{{UID: "b", Ready: true}}, false},
		"one more":    {0, []Pod{{UID: "a", Ready: true}, {UID: "b", Ready: true}}, false},
	} {
		if got := seen.Current(now.Add(tt.after), tt.pods); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
	if (Observation{}).Current(now, nil) {
		t.Error("nothing observed is current")
	}
}

// TestRebuild checks that a replica is rebuilt only after it was Lost twice without progress.
func TestRebuild(t *testing.T) {
	lost := observedPod(v1.ReplicaLost, false)
	for name, tt := range map[string]struct {
		last func(*Pod)
		want bool
	}{
		"lost twice":        {func(*Pod) {}, true},
		"not lost before":   {func(p *Pod) { p.Status.State = v1.ReplicaDisconnected }, false},
		"made progress":     {func(p *Pod) { p.Replica.position-- }, false},
		"another pod":       {func(p *Pod) { p.UID = "b" }, false},
		"not seen before":   {func(p *Pod) { *p = Pod{} }, false},
		"did not answer":    {func(p *Pod) { p.Replica = nil }, false},
		"of another system": {func(p *Pod) { p.Replica.system = "6" }, false},
	} {
		last := observedPod(v1.ReplicaLost, false)
		tt.last(&last)
		if got := lost.Rebuild(last); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
	for _, state := range []v1.ReplicaState{v1.ReplicaPromoted, v1.ReplicaDiverged, v1.ReplicaUnknown, v1.ReplicaDisconnected, v1.ReplicaFollowing} {
		if pod := observedPod(state, false); pod.Rebuild(pod) {
			t.Errorf("one that is %s is rebuilt", state)
		}
	}
}

func TestKept(t *testing.T) {
	got := Kept([]v1.DatabaseReplica{{Name: "a", State: v1.ReplicaPromoted}, {Name: "b", State: v1.ReplicaLost}, {Name: "c", State: v1.ReplicaDiverged}})
	if diff := cmp.Diff([]string{"a", "c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
