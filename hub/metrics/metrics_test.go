package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// held represents a cache.
type held struct {
	members []v1.MemberCluster
	apps    []v1.EcommerceApp
	// unsynced means that the cache is not filled yet.
	unsynced bool
}

func (h *held) list(list client.ObjectList) bool {
	switch l := list.(type) {
	case *v1.MemberClusterList:
		l.Items = h.members
	case *v1.EcommerceAppList:
		l.Items = h.apps
	}
	return !h.unsynced
}

// gather returns the values of all series by name and labels.
func (h *held) gather(t *testing.T) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.list.Store(new(h.list))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			out[strings.TrimPrefix(family.GetName(), "shopfleet_")+" "+strings.Join(labels, " ")] = metric.GetGauge().GetValue()
		}
	}
	return out
}

func (h *held) expect(t *testing.T, want map[string]float64) {
	t.Helper()
	if diff := cmp.Diff(want, h.gather(t)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func member(name string, conditions ...metav1.Condition) v1.MemberCluster {
	m := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Status.Conditions = conditions
	return m
}

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason}
}

func TestMembers(t *testing.T) {
	expiry := metav1.NewTime(time.Unix(1_900_000_000, 0))
	ready := condition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected)
	full := member("full", ready, condition(v1.ConditionCredentialsRenewed, metav1.ConditionFalse, v1.ReasonExpiring))
	full.Status.Provider, full.Status.Region = v1.ProviderAWS, "eu-west-1"
	full.Status.OrphanCount, full.Status.ResidueCount, full.Status.CredentialsExpirationTime = 2, 3, &expiry
	renewed := member("renewed", condition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonProbeFailed),
		condition(v1.ConditionCredentialsRenewed, metav1.ConditionTrue, v1.ReasonNotDue))
	renewed.Status.CredentialsExpirationTime = &expiry
	detached := member("detached", condition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSecretNotFound))
	detached.Status.CredentialsExpirationTime, detached.Status.ResidueCount = &expiry, 1
	upgraded := member("upgraded", ready)
	older := member("older", ready, condition(v1.ConditionDefinitionsCurrent, metav1.ConditionFalse, v1.ReasonDefinitionOutdated))
	upgraded.Spec.Mode, older.Spec.Mode = v1.ModeAgent, v1.ModeAgent
	leaving := member("leaving", ready)
	leaving.DeletionTimestamp = new(metav1.Unix(1000, 0))
	(&held{members: []v1.MemberCluster{full, renewed, detached, upgraded, older, leaving, member("new")}}).expect(t, map[string]float64{
		"member_ready member=full": 1, "member_info member=full provider=aws region=eu-west-1": 1,
		"member_orphans member=full": 2, "member_residue member=full": 3,
		"member_credentials_expiry_timestamp_seconds member=full": 1_900_000_000, "member_credentials_expiring member=full": 1,

		"member_ready member=renewed": 0, "member_info member=renewed provider= region=": 1,
		"member_orphans member=renewed": 0, "member_residue member=renewed": 0,
		"member_credentials_expiry_timestamp_seconds member=renewed": 1_900_000_000, "member_credentials_expiring member=renewed": 0,

		"member_ready member=detached": 0, "member_info member=detached provider= region=": 1, "member_residue member=detached": 1,

		"member_ready member=upgraded": 1, "member_info member=upgraded provider= region=": 1,
		"member_orphans member=upgraded": 0, "member_residue member=upgraded": 0, "member_definitions_outdated member=upgraded": 0,

		"member_ready member=older": 1, "member_info member=older provider= region=": 1,
		"member_orphans member=older": 0, "member_residue member=older": 0, "member_definitions_outdated member=older": 1,

		"member_ready member=new": 0, "member_info member=new provider= region=": 1,
		"member_orphans member=new": 0, "member_residue member=new": 0,
	})
}

func app(name string, phase v1.Phase, clusters ...v1.ClusterStatus) v1.EcommerceApp {
	a := v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name}}
	a.Status.Phase, a.Status.Clusters = phase, clusters
	return a
}

func TestApps(t *testing.T) {
	deleted := app("deleted", v1.PhaseRunning, v1.ClusterStatus{Name: "eu-1", Phase: v1.PhaseDeleting})
	deleted.DeletionTimestamp = new(metav1.Unix(1000, 0))
	staged := app("staged", v1.PhaseUpdating)
	staged.Spec.Rollout, staged.Status.Rollout = &v1.Rollout{}, &v1.RolloutStatus{State: v1.RolloutWaitingForWindow}
	former := app("former", v1.PhaseRunning)
	former.Status.Rollout = &v1.RolloutStatus{State: v1.RolloutFailed}
	(&held{apps: []v1.EcommerceApp{
		staged, former,
		app("shop", v1.PhaseUnknown,
			v1.ClusterStatus{Name: "eu-1", Phase: v1.PhaseRunning, Ready: true, Available: true, ReplicationLagSeconds: new(int64(20))},
			v1.ClusterStatus{Name: "us-1", Phase: v1.PhaseFailed, Available: true, Reason: v1.ReasonInvalidSpec, DatabaseLost: true},
			v1.ClusterStatus{Name: "ap-1", Phase: v1.PhaseUnknown, Stale: true, Reason: v1.ReasonClusterUnreachable, ReplicationLagSeconds: new(int64(20))},
			v1.ClusterStatus{Name: "left", Phase: v1.PhaseDeleting},
			v1.ClusterStatus{Name: "next", Phase: v1.PhaseCreating}),
		app("new", ""),
		deleted,
	}}).expect(t, map[string]float64{
		"app_phase app=staged namespace=shops phase=Updating":  1,
		"app_phase app=former namespace=shops phase=Running":   1,
		"app_phase app=shop namespace=shops phase=Unknown":     1,
		"app_phase app=new namespace=shops phase=Pending":      1,
		"app_phase app=deleted namespace=shops phase=Deleting": 1,
		"app_ready app=shop cluster=eu-1 namespace=shops":      1,
		"app_stale app=shop cluster=eu-1 namespace=shops":      0,
		"app_ready app=shop cluster=us-1 namespace=shops":      0,
		"app_stale app=shop cluster=us-1 namespace=shops":      0,
		"app_ready app=shop cluster=ap-1 namespace=shops":      0,
		"app_stale app=shop cluster=ap-1 namespace=shops":      1,
		"app_ready app=shop cluster=next namespace=shops":      0,
		"app_stale app=shop cluster=next namespace=shops":      0,
		"app_degraded app=shop cluster=next namespace=shops":   0,
		"app_available app=shop cluster=eu-1 namespace=shops":  1,
		"app_available app=shop cluster=us-1 namespace=shops":  1,
		"app_available app=shop cluster=ap-1 namespace=shops":  0,
		"app_degraded app=shop cluster=eu-1 namespace=shops":   0,
		"app_degraded app=shop cluster=us-1 namespace=shops":   1,
		"app_degraded app=shop cluster=ap-1 namespace=shops":   0,

		"app_database_lost app=shop cluster=us-1 namespace=shops": 1,

		"app_rollout_state app=staged namespace=shops state=WaitingForWindow": 1,

		"app_replication_lag_seconds app=shop cluster=eu-1 namespace=shops": 20,
	})
}

func TestDegraded(t *testing.T) {
	for name, test := range map[string]struct {
		status v1.ClusterStatus
		want   bool
	}{
		"ready":                  {v1.ClusterStatus{Phase: v1.PhaseRunning, Ready: true}, false},
		"ready, without a login": {v1.ClusterStatus{Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonLoginNotConfigured}, true},
		"being updated":          {v1.ClusterStatus{Phase: v1.PhaseUpdating, Reason: v1.ReasonProgressing}, false},
		"failed":                 {v1.ClusterStatus{Phase: v1.PhaseFailed, Reason: v1.ReasonDeadlineExceeded}, true},
		"stalled in an update":   {v1.ClusterStatus{Phase: v1.PhaseUpdating, Stalled: true, Reason: v1.ReasonForbidden}, true},
		"crash-loops":            {v1.ClusterStatus{Phase: v1.PhaseUpdating, Reason: v1.ReasonProgressing, DegradedReason: v1.ReasonCrashLoopBackOff}, true},
		"paused":                 {v1.ClusterStatus{Phase: v1.PhasePaused, Ready: true, Reason: v1.ReasonPaused}, false},
		"not observed":           {v1.ClusterStatus{Phase: v1.PhaseUnknown, Stale: true, Reason: v1.ReasonClusterUnreachable}, false},
	} {
		if got := isDegraded(&test.status); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestBeforeTheCacheIsFilled(t *testing.T) {
	(&held{members: []v1.MemberCluster{member("eu-1")}, unsynced: true}).expect(t, map[string]float64{})
	registry := prometheus.NewPedanticRegistry()
	if _, err := NewMetrics(registry); err != nil {
		t.Fatal(err)
	}
	if families, err := registry.Gather(); err != nil || len(families) > 0 {
		t.Errorf("before Watch there are %v, %v", families, err)
	}
}

// TestSeriesAreBounded checks that the numbers of series are the documented ones.
func TestSeriesAreBounded(t *testing.T) {
	h := fleet(10, 3)
	if got, want := len(h.gather(t)), 3*6+10*(2+3*5); got != want {
		t.Errorf("%d series, want %d: %v", got, want, slices.Sorted(maps.Keys(h.gather(t))))
	}
}

// fleet returns a cache with applications that each run in all members.
func fleet(apps, members int) *held {
	h := &held{}
	var clusters []v1.ClusterStatus
	for i := range members {
		m := member(fmt.Sprintf("member-%d", i), condition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected))
		m.Status.CredentialsExpirationTime = new(metav1.Unix(1000, 0))
		h.members = append(h.members, m)
		clusters = append(clusters, v1.ClusterStatus{Name: m.Name, Ready: true, Phase: v1.PhaseRunning, ReplicationLagSeconds: new(int64(0))})
	}
	for i := range apps {
		a := app(fmt.Sprintf("app-%d", i), v1.PhaseRunning, clusters...)
		a.Spec.Rollout, a.Status.Rollout = &v1.Rollout{}, &v1.RolloutStatus{State: v1.RolloutComplete}
		h.apps = append(h.apps, a)
	}
	return h
}

func BenchmarkCollect(b *testing.B) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		b.Fatal(err)
	}
	h := fleet(1000, 3)
	m.list.Store(new(func(list client.ObjectList) bool {
		copied := &held{members: slices.Clone(h.members), apps: slices.Clone(h.apps)} // As a list from a cache does.
		return copied.list(list)
	}))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
