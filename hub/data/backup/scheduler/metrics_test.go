package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
)

// TestMetrics checks that ages are computed at the time of the scrape, and a deleted application has no metrics.
func TestMetrics(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(at("2026-03-02T02:00:00Z"))
	registry := prometheus.NewPedanticRegistry()
	m, err := NewMetrics(registry, clock)
	if err != nil {
		t.Fatal(err)
	}
	app := types.NamespacedName{Namespace: "shops", Name: "shop"}
	m.set(app, Decision{Clusters: []History{
		{Cluster: "eu-1", LastGood: clock.Now(), MaxRPO: 36 * time.Hour, Next: at("2026-03-03T02:00:00Z"), LastVerified: at("2026-03-01T04:00:00Z"), VerifyDeadline: at("2026-03-02T16:00:00Z"), VerifyFailed: true,
			Completed: 3, Partial: 1, Failed: map[string]int{"DumpFailed": 2, "SendFailed": 1},
			Offsite: []offsite{{place: "us-east-1", last: clock.Now()}, {place: bucket, since: clock.Now().Add(-time.Hour)}}},
		{Cluster: "us-1", Since: at("2026-03-01T02:00:00Z"), MaxRPO: time.Hour},
	}})
	clock.Step(time.Minute)
	const want = `# HELP shopfleet_backup_seconds_since_last_success Age of the newest successful backup of an application in a cluster, or of the application if there is none, in seconds.
# TYPE shopfleet_backup_seconds_since_last_success gauge
shopfleet_backup_seconds_since_last_success{app="shop",cluster="eu-1",namespace="shops"} 60
shopfleet_backup_seconds_since_last_success{app="shop",cluster="us-1",namespace="shops"} 86460
# HELP shopfleet_backup_last_verified_timestamp_seconds Time of the last successful verification of a backup; 0 if there was none.
# TYPE shopfleet_backup_last_verified_timestamp_seconds gauge
shopfleet_backup_last_verified_timestamp_seconds{app="shop",cluster="eu-1",namespace="shops"} 1.7723376e+09
shopfleet_backup_last_verified_timestamp_seconds{app="shop",cluster="us-1",namespace="shops"} 0
# HELP shopfleet_backup_verification_failed 1 if the last verification of a backup failed; absent if none is scheduled.
# TYPE shopfleet_backup_verification_failed gauge
shopfleet_backup_verification_failed{app="shop",cluster="eu-1",namespace="shops"} 1
# HELP shopfleet_backup_verify_deadline_timestamp_seconds Deadline of the next verification of a backup; absent if none is scheduled.
# TYPE shopfleet_backup_verify_deadline_timestamp_seconds gauge
shopfleet_backup_verify_deadline_timestamp_seconds{app="shop",cluster="eu-1",namespace="shops"} 1.7724672e+09
# HELP shopfleet_backups Number of backups by result (Completed, PartiallyCompleted or Failed) and reason of the failure.
# TYPE shopfleet_backups gauge
shopfleet_backups{app="shop",cluster="eu-1",namespace="shops",reason="",result="Completed"} 3
shopfleet_backups{app="shop",cluster="eu-1",namespace="shops",reason="DumpFailed",result="Failed"} 2
shopfleet_backups{app="shop",cluster="eu-1",namespace="shops",reason="SendFailed",result="Failed"} 1
shopfleet_backups{app="shop",cluster="eu-1",namespace="shops",reason="",result="PartiallyCompleted"} 1
shopfleet_backups{app="shop",cluster="us-1",namespace="shops",reason="",result="Completed"} 0
shopfleet_backups{app="shop",cluster="us-1",namespace="shops",reason="",result="PartiallyCompleted"} 0
shopfleet_backups{app="shop",cluster="us-1",namespace="shops",reason="",result="Failed"} 0
# HELP shopfleet_backup_offsite_seconds_since_last_success Age of the newest successful backup in a region of copyToRegions or in the bucket, or of the wish for one there, in seconds.
# TYPE shopfleet_backup_offsite_seconds_since_last_success gauge
shopfleet_backup_offsite_seconds_since_last_success{app="shop",cluster="eu-1",namespace="shops",place="bucket"} 3660
shopfleet_backup_offsite_seconds_since_last_success{app="shop",cluster="eu-1",namespace="shops",place="us-east-1"} 60
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"shopfleet_backup_seconds_since_last_success", "shopfleet_backup_last_verified_timestamp_seconds", "shopfleet_backups",
		"shopfleet_backup_verify_deadline_timestamp_seconds", "shopfleet_backup_verification_failed",
		"shopfleet_backup_offsite_seconds_since_last_success"); err != nil {
		t.Error(err)
	}
	m.forget(app)
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 0 {
		t.Errorf("%d are told of an application that is gone, %v", n, err)
	}
}
