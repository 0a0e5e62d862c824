package aggregate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestComputeSumsUpRegionsAndComponents(t *testing.T) {
	t.Parallel()
	inRegion := func(region string) func(*Cluster) { return func(c *Cluster) { c.Region = region } }
	in := input(
		member("a", running, inRegion("west")),
		member("b", running, inRegion("west")),
		member("c", running, inRegion("")),
	)
	in = with(after(in, 1), "b", lost)
	got := Compute(in)

	wantRegions := []v1.RegionStatus{
		{Name: "unknown", Phase: v1.PhaseRunning, Clusters: 1, ReadyClusters: 1, Replicas: 3, ReadyReplicas: 3, OldestObservationTime: new(at(0))},
		{Name: "west", Phase: v1.PhaseUnknown, Clusters: 2, ReadyClusters: 1, Replicas: 6, ReadyReplicas: 3, OldestObservationTime: new(at(0))},
	}
	if diff := cmp.Diff(wantRegions, got.Regions); diff != "" {
		t.Errorf("regions (-want +got):\n%s", diff)
	}
	half := func(name string) v1.ComponentStatus {
		return v1.ComponentStatus{
			Name: name, Phase: v1.PhaseUnknown, Reason: v1.ReasonWaitingForClusters,
			Message: "ready in 2 of 3 clusters", Clusters: 3, ReadyClusters: 2,
		}
	}
	wantComponents := []v1.ComponentStatus{
		half("database"), half("backend"), half(frontend), half("ingress"),
		{Name: "monitoring", Phase: v1.PhaseDisabled, Ready: true, Reason: v1.ReasonDisabled},
	}
	if diff := cmp.Diff(wantComponents, got.Components); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	if got.Replicas != 3 || got.RegionCount != 2 || got.ClusterCount != 3 || got.Selector != "app=x" {
		t.Errorf("replicas %d, regions %d, clusters %d, selector %q", got.Replicas, got.RegionCount, got.ClusterCount, got.Selector)
	}
}

// TestReplicas checks that /scale shows the number of one cluster: the same in all of them, or
// the largest.
func TestReplicas(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		running []int32
		want    int32
	}{
		"none":                {nil, 0},
		"one":                 {[]int32{4}, 4},
		"the same everywhere": {[]int32{4, 4, 4}, 4},
		"while they differ":   {[]int32{3, 5, 0}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clusters []v1.ClusterStatus
			for _, n := range tt.running {
				clusters = append(clusters, v1.ClusterStatus{Phase: v1.PhaseRunning, Replicas: n})
			}
			clusters = append(clusters, v1.ClusterStatus{Phase: v1.PhaseDeleting, Replicas: 9})
			if got := summarize(Input{}, clusters).replicas; got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestComputeKeepsTime(t *testing.T) {
	t.Parallel()
	in := after(input(member("a", running), member("b", running)), 5)
	in = with(in, "b", lost)
	got := Compute(in)

	times := map[string]metav1.Time{}
	for _, c := range got.Clusters {
		times[c.Name] = *c.LastObservedTime
	}
	want := map[string]metav1.Time{"a": at(0), "b": at(3)}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("lastObservedTime (-want +got):\n%s", diff)
	}
	if !got.LastUpdated.Equal(new(at(5))) {
		t.Errorf("lastUpdated is %s, want the time of the change", got.LastUpdated)
	}
	ready := meta.FindStatusCondition(got.Conditions, v1.ConditionReady)
	placed := meta.FindStatusCondition(got.Conditions, v1.ConditionPlaced)
	if changed := at(5); !ready.LastTransitionTime.Equal(&changed) {
		t.Errorf("Ready changed at %s", ready.LastTransitionTime)
	}
	if kept := at(0); !placed.LastTransitionTime.Equal(&kept) {
		t.Errorf("Placed did not change, its time did: %s", placed.LastTransitionTime)
	}
}

// TestComputePlaced checks that the condition says why the application stays in a cluster, and that it is not spread
// as the spec says.
func TestComputePlaced(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Input)
		want   metav1.Condition
	}{
		"placed": {func(*Input) {}, metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonPlaced, Message: "placed on 1 cluster in 1 region"}},
		"staying": {
			func(in *Input) { in.StayReason, in.StayMessage = v1.ReasonDataStays, "stays in a" },
			metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonDataStays, Message: "placed on 1 cluster in 1 region; stays in a"},
		},
		"not spread": {
			func(in *Input) { in.Unmet = "too few" },
			metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonSpreadNotMet, Message: "placed on 1 cluster in 1 region; too few"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(member("a", running))
			in.PlacementHash = "h"
			tt.change(&in)
			status := Compute(in)
			got := meta.FindStatusCondition(status.Conditions, v1.ConditionPlaced)
			if diff := cmp.Diff(tt.want, metav1.Condition{Status: got.Status, Reason: got.Reason, Message: got.Message}); diff != "" {
				t.Errorf("Placed (-want +got):\n%s", diff)
			}
			if status.Placement.SpecHash != "h" {
				t.Errorf("the hash of the placement is %q", status.Placement.SpecHash)
			}
		})
	}
}

// TestComputeShares checks that chosen clusters have their shares, and the replicas of all count for /scale.
func TestComputeShares(t *testing.T) {
	t.Parallel()
	in := input(member("a", running), member("b", running))
	together := Compute(in)
	in.Shares = map[string]v1.ReplicaShare{"a": {Frontend: new(int32(3))}, "b": {Frontend: new(int32(1))}}
	divided := Compute(in)
	if got := divided.Clusters[0].Share; got == nil || *got.Frontend != 3 || together.Clusters[0].Share != nil {
		t.Errorf("shares %v and %v", together.Clusters[0].Share, got)
	}
	if together.Replicas == 0 || divided.Replicas != 2*together.Replicas {
		t.Errorf("%d replicas, and %d if they are divided", together.Replicas, divided.Replicas)
	}
	if !Urgent(together, divided) {
		t.Error("a change of shares waits, and with it the copies")
	}
	in.Chosen, in.Previous = []string{"b"}, divided
	if left := Compute(in).Clusters[0]; left.Share != nil {
		t.Errorf("a cluster that is left has the share %v", left.Share)
	}
}

func TestComputeAnswersForcedReconciliation(t *testing.T) {
	t.Parallel()
	answered := func(c *Cluster) { c.Copy.Status.LastHandledReconcileAt = "t1" }
	tests := map[string]struct {
		members []Cluster
		want    string
	}{
		"everybody answered":                     {[]Cluster{member("a", running, answered), member("b", running, answered)}, "t1"},
		"one has not":                            {[]Cluster{member("a", running, answered), member("b", running)}, "t0"},
		"one is not connected yet":               {[]Cluster{member("a", running, answered), member("b", connectingNow)}, "t0"},
		"a lost one is not waited for":           {[]Cluster{member("a", running, answered), member("b", lost)}, "t1"},
		"no member to wait for":                  {nil, "t1"},
		"a copy that is not there has no answer": {[]Cluster{member("a")}, "t0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(tt.members...)
			in.ReconcileAt = "t1"
			in.Previous.LastHandledReconcileAt = "t0"
			if got := Compute(in).LastHandledReconcileAt; got != tt.want {
				t.Errorf("lastHandledReconcileAt is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFiveHundredClustersFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60)
	in := Input{Generation: 1 << 40, Now: at(0)}
	for i := range 500 {
		c := member(fmt.Sprintf("%s%03d", long, i), reporting(v1.PhaseCreating), failing(v1.ReasonNamespaceTerminating),
			says(v1.ConditionAvailable, v1.ReasonAvailable), says(v1.ConditionStalled, v1.ReasonDeadlineExceeded))
		c.Region = fmt.Sprintf("%s%03d", long, i)
		c.Provider = v1.ProviderAzure
		c.Failure.Message = strings.Repeat("why", 200)
		for j := range c.Copy.Status.Components {
			c.Copy.Status.Components[j].Replicas, c.Copy.Status.Components[j].ReadyReplicas = 1000, 1000
		}
		for j := range 8 {
			c.Copy.Status.Addresses = append(c.Copy.Status.Addresses, fmt.Sprintf("%d.%s.%s.example.test", j, long, long))
		}
		says(v1.ConditionDatabaseLost, v1.ReasonDatabaseLost)(&c)
		createdDatabase(&c)
		says(v1.ConditionCertificateTrusted, v1.ReasonSelfSignedCertificate)(&c)
		c.Copy.Status.Conditions[len(c.Copy.Status.Conditions)-1].Status = metav1.ConditionFalse
		if i%2 == 0 {
			lost(&c)
			c.Cause = v1.ReasonClusterIdentityChanged
		}
		in.Clusters = append(in.Clusters, c)
		in.Chosen = append(in.Chosen, c.Name)
	}
	in.Previous = Compute(with(in, in.Chosen[0]))
	status := Compute(in)
	encoded, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	if limit := 256 << 10; len(encoded) > limit {
		t.Errorf("the status takes %d bytes, the limit is %d", len(encoded), limit)
	}
	if len(status.Clusters) != 500 {
		t.Errorf("%d clusters", len(status.Clusters))
	}
	// Two hundred are shown in full, and that fits too.
	in.Chosen = in.Chosen[:200]
	in.Previous = v1.EcommerceAppStatus{}
	if encoded, err = json.Marshal(Compute(in)); err != nil || len(encoded) > 256<<10 {
		t.Errorf("200 clusters take %d bytes (%v)", len(encoded), err)
	}
}

func TestComputeNeverListsMoreThanTheSchemaAllows(t *testing.T) {
	t.Parallel()
	in := Input{Generation: 1, Now: at(0)}
	for i := range 600 {
		in.Clusters = append(in.Clusters, member(fmt.Sprintf("c%03d", i)))
	}
	for _, c := range in.Clusters[:300] {
		in.Chosen = append(in.Chosen, c.Name)
	}
	in.Previous = Compute(in)
	in.Chosen = nil
	for _, c := range in.Clusters[300:] {
		in.Chosen = append(in.Chosen, c.Name)
	}
	got := Compute(in)
	left := 0
	for _, c := range got.Clusters {
		if c.Phase == v1.PhaseDeleting {
			left++
		}
	}
	if len(got.Clusters) != 500 || left != 300 {
		t.Errorf("%d entries, %d of them to be left; want 500 and 300: what may exist is never dropped for want of room", len(got.Clusters), left)
	}
}

// TestHindered checks that a copy that cannot act on all of its spec says why.
func TestHindered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		generation int64
		status     metav1.ConditionStatus
		want       string
	}{
		"by this spec":       {2, metav1.ConditionTrue, v1.ReasonStorageNotExpandable},
		"by the spec before": {1, metav1.ConditionTrue, v1.ReasonProgressing},
		"no longer":          {2, metav1.ConditionFalse, v1.ReasonProgressing},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied := &Copy{Generation: 2, HubGeneration: 2, Status: copyStatus(v1.PhaseRunning, true)}
			copied.Status.Conditions = append(copied.Status.Conditions, metav1.Condition{
				Type: v1.ConditionDegraded, Status: tt.status, ObservedGeneration: tt.generation,
				Reason: v1.ReasonStorageNotExpandable, Message: "the claim cannot grow",
			})
			var e v1.ClusterStatus
			observed(&e, 2, Cluster{Name: "eu-1", Copy: copied})
			if e.Ready || e.Phase != v1.PhaseUpdating || e.Reason != tt.want || (e.Message == "the claim cannot grow") != (tt.want == v1.ReasonStorageNotExpandable) {
				t.Errorf("got %s, ready %v, %s: %s", e.Phase, e.Ready, e.Reason, e.Message)
			}
		})
	}
}

// TestStalledAndReady checks that a spec that a cluster cannot carry out without a user stalls the
// application, although what runs there is ready.
func TestStalledAndReady(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{v1.ReasonStorageNotExpandable, v1.ReasonFieldManagerConflict, v1.ReasonClaimBeingDeleted} {
		copied := &Copy{Generation: 2, HubGeneration: 2, Status: copyStatus(v1.PhaseRunning, true)}
		copied.Status.ObservedGeneration = 2
		for _, kind := range []string{v1.ConditionDegraded, v1.ConditionStalled} {
			copied.Status.Conditions = append(copied.Status.Conditions, metav1.Condition{
				Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: 2, Reason: reason, Message: "a user has to act",
			})
		}
		var e v1.ClusterStatus
		observed(&e, 2, Cluster{Name: "eu-1", Copy: copied})
		if !e.Stalled || !e.Ready || e.AppliedGeneration != 2 || e.Reason != reason {
			t.Errorf("got %+v", e)
		}
	}
}

// TestReadyAndDegraded checks that the entry of a cluster says why what runs there is of no use.
func TestReadyAndDegraded(t *testing.T) {
	t.Parallel()
	copied := &Copy{Generation: 2, HubGeneration: 2, Status: copyStatus(v1.PhaseRunning, true)}
	copied.Status.ObservedGeneration = 2
	copied.Status.Conditions = append(copied.Status.Conditions, metav1.Condition{
		Type: v1.ConditionDegraded, Status: metav1.ConditionTrue, ObservedGeneration: 2,
		Reason: v1.ReasonLoginNotConfigured, Message: "ingress: no user can log in",
	})
	var e v1.ClusterStatus
	observed(&e, 2, Cluster{Name: "eu-1", Copy: copied})
	if !e.Ready || e.Phase != v1.PhaseRunning || e.Reason != v1.ReasonLoginNotConfigured || e.Message != "ingress: no user can log in" {
		t.Errorf("got %s, ready %v, %s: %s", e.Phase, e.Ready, e.Reason, e.Message)
	}
}

func TestBackupsAreThoseOfTheSummary(t *testing.T) {
	t.Parallel()
	entry := []v1.ClusterBackups{{Name: "a"}}
	summary := &BackupSummary{Condition: &metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonBackupsRecent}, Clusters: entry}
	stored := after(everywhere(), 1)
	stored.Backups = summary
	stored = after(stored, 1)
	tests := map[string]struct {
		summary  *BackupSummary
		deleting bool
		clusters []v1.ClusterBackups
		ready    bool
	}{
		"there is no summary yet":       {nil, false, entry, true},
		"the same summary":              {summary, false, entry, true},
		"backups are off":               {&BackupSummary{}, false, nil, false},
		"the schedule cannot be parsed": {&BackupSummary{Condition: &metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonInvalidSpec}, KeepClusters: true}, false, entry, false},
		"the application is deleted":    {&BackupSummary{}, true, entry, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := stored
			in.Backups, in.Deleting = tt.summary, tt.deleting
			next := Compute(in)
			if diff := cmp.Diff(tt.clusters, next.Backups); diff != "" {
				t.Errorf("backups (-want +got):\n%s", diff)
			}
			if got := meta.IsStatusConditionTrue(next.Conditions, v1.ConditionBackupReady); got != tt.ready {
				t.Errorf("BackupReady is %t, want %t", got, tt.ready)
			}
		})
	}
}

// TestLastBackup checks that the application's last backup is that of the cluster whose newest one is the oldest.
func TestLastBackup(t *testing.T) {
	t.Parallel()
	at := func(minute int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 3, 2, 2, minute, 0, 0, time.UTC)}
	}
	for name, tt := range map[string]struct {
		clusters []v1.ClusterBackups
		want     *metav1.Time
	}{
		"backups are off": {},
		"one cluster":     {[]v1.ClusterBackups{{Name: "a", LastBackupTime: at(3)}}, at(3)},
		"the oldest":      {[]v1.ClusterBackups{{Name: "a", LastBackupTime: at(3)}, {Name: "b", LastBackupTime: at(1)}, {Name: "c", LastBackupTime: at(2)}}, at(1)},
		"one has none":    {[]v1.ClusterBackups{{Name: "a", LastBackupTime: at(3)}, {Name: "b"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := everywhere()
			in.Backups, in.Previous.LastBackupTime = &BackupSummary{Clusters: tt.clusters}, at(0)
			if diff := cmp.Diff(tt.want, Compute(in).LastBackupTime); diff != "" {
				t.Errorf("last backup (-want +got):\n%s", diff)
			}
		})
	}
}
