package rediscover

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// snapshot returns a snapshot of shop-1 in eu-west-1, with a change.
func snapshot(change func(*cloud.Snapshot)) cloud.Snapshot {
	s := cloud.Snapshot{
		Ref: cloud.SnapshotRef{Region: "eu-west-1", ID: "snap-1"}, Name: "eb-1", State: cloud.StateReady,
		TakenAt: noon().Add(-10 * time.Hour), Progress: 100, SizeBytes: 10 << 30,
		Tags: cloud.Tags{
			cloud.TagHub: "hub", cloud.TagApp: "uid", cloud.TagNamespace: "shops", cloud.TagAppName: "shop",
			cloud.TagCluster: "eu-1", cloud.TagBackup: "shop-1", cloud.TagClaim: "data-0", cloud.TagVolume: "vol-1",
			cloud.TagScheduledTime: "2026-03-01T02:00:00Z", cloud.TagEngine: "postgresql", cloud.TagVersion: "13.4",
			cloud.TagOf: "1", cloud.TagLevel: "Application", cloud.TagPosition: "7412345678901234567 1 0/16B3748", cloud.TagDeleteLock: "7",
		},
	}
	if change != nil {
		s.Tags = s.Tags.With(nil)
		change(&s)
	}
	return s
}

func account() *v1.CloudAccount {
	return &v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: v1.CloudAccountSpec{Provider: v1.ProviderAWS}}
}

func TestABackupIsFoundWhole(t *testing.T) {
	t.Parallel()
	copied := snapshot(func(s *cloud.Snapshot) {
		s.Ref = cloud.SnapshotRef{Region: "us-east-1", ID: "snap-2"}
		s.TakenAt = noon()
		s.Tags[cloud.TagCopyOf] = "snap-1"
	})
	got, left := assemble(found{account: account(), snapshot: []cloud.Snapshot{copied, snapshot(nil)}, now: noon()})
	if len(got) != 1 || left != 0 {
		t.Fatalf("found %d, left %d out", len(got), left)
	}
	entry := func(region, id string) v1.CloudSnapshot {
		return v1.CloudSnapshot{Region: region, Name: "eb-1", ID: id, State: "Ready", Progress: 100}
	}
	want := v1.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shops", Name: "shop-1", Finalizers: []string{v1.BackupFinalizer},
			Annotations: map[string]string{v1.RediscoveredAnnotation: "prod"},
			Labels:      map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: "shop", v1.ClusterLabel: "eu-1"},
		},
		Spec: v1.BackupSpec{
			AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupSnapshot, Deletion: v1.DeletionRetain,
			ScheduledTime: &metav1.Time{Time: noon().Add(-10 * time.Hour)},
		},
		Status: v1.BackupStatus{
			Phase: v1.BackupCompleted, Message: "Rediscovered in the cloud", HubUID: "hub", AppUID: "uid", Account: "prod",
			Provider: v1.ProviderAWS, Region: "eu-west-1", Engine: v1.EnginePostgreSQL, Version: "13.4", Size: "10Gi",
			Consistency:    v1.ConsistencyApplication,
			DeleteLockDays: 7,
			Position:       "7412345678901234567 1 0/16B3748",
			SnapshotTime:   &metav1.Time{Time: noon().Add(-10 * time.Hour)},
			CompletionTime: &metav1.Time{Time: noon()},
			Conditions: []metav1.Condition{{
				Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted,
				Message: "Rediscovered in the cloud", LastTransitionTime: metav1.NewTime(noon()),
			}},
			Snapshots: []v1.VolumeSnapshot{{
				Claim: "data-0", VolumeUID: "vol-1", Size: "10Gi", CloudSnapshot: entry("eu-west-1", "snap-1"),
				Copies: []v1.CloudSnapshot{entry("us-east-1", "snap-2")},
			}},
		},
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("backup (-want +got):\n%s", diff)
	}
}

func TestWhatIsNotWhole(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		snapshots []cloud.Snapshot
		phases    map[string]v1.BackupPhase
		left      int
	}{
		"nothing": {nil, map[string]v1.BackupPhase{}, 0},
		"one of two is missing": {[]cloud.Snapshot{snapshot(func(s *cloud.Snapshot) { s.Tags[cloud.TagOf] = "2" })},
			map[string]v1.BackupPhase{"shop-1": v1.BackupFailed}, 0},
		"not ready": {[]cloud.Snapshot{snapshot(func(s *cloud.Snapshot) { s.State = cloud.StateTaken })},
			map[string]v1.BackupPhase{"shop-1": v1.BackupFailed}, 0},
		"a copy alone": {[]cloud.Snapshot{snapshot(func(s *cloud.Snapshot) { s.Tags[cloud.TagCopyOf] = "snap-0" })},
			map[string]v1.BackupPhase{"shop-1": v1.BackupCompleted}, 0},
		"a copy that failed": {[]cloud.Snapshot{snapshot(nil), snapshot(func(s *cloud.Snapshot) {
			s.Ref, s.State = cloud.SnapshotRef{Region: "us-9", ID: "snap-3"}, cloud.StateFailed
			s.Tags[cloud.TagCopyOf] = "snap-1"
		})}, map[string]v1.BackupPhase{"shop-1": v1.BackupPartiallyCompleted}, 0},
		"tags are missing": {[]cloud.Snapshot{snapshot(func(s *cloud.Snapshot) { delete(s.Tags, cloud.TagClaim) }), snapshot(nil)},
			map[string]v1.BackupPhase{"shop-1": v1.BackupCompleted}, 1},
		"two backups": {[]cloud.Snapshot{snapshot(func(s *cloud.Snapshot) { s.Tags[cloud.TagBackup] = "shop-2" }), snapshot(nil)},
			map[string]v1.BackupPhase{"shop-1": v1.BackupCompleted, "shop-2": v1.BackupCompleted}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backups, left := assemble(found{account: account(), snapshot: tt.snapshots, now: noon()})
			got := map[string]v1.BackupPhase{}
			for _, b := range backups {
				got[b.Name] = b.Status.Phase
				if b.Status.SnapshotTime == nil {
					t.Errorf("%s is of no point in time", b.Name)
				}
			}
			if diff := cmp.Diff(tt.phases, got); diff != "" || left != tt.left {
				t.Errorf("left %d out, want %d; phases (-want +got):\n%s", left, tt.left, diff)
			}
		})
	}
}

// TestTwinsAreOneBackup checks that the older of two snapshots of a claim in a region counts.
func TestTwinsAreOneBackup(t *testing.T) {
	t.Parallel()
	twin := snapshot(func(s *cloud.Snapshot) { s.Ref.ID = "snap-9"; s.TakenAt = s.TakenAt.Add(time.Minute) })
	backups, _ := assemble(found{account: account(), snapshot: []cloud.Snapshot{twin, snapshot(nil)}, now: noon()})
	if len(backups) != 1 || len(backups[0].Status.Snapshots) != 1 || backups[0].Status.Snapshots[0].ID != "snap-1" {
		t.Errorf("found %+v", backups)
	}
}

// TestAnAttemptThatFailedIsNotTheBackup checks that the successful one of two attempts counts, even if it is younger.
func TestAnAttemptThatFailedIsNotTheBackup(t *testing.T) {
	t.Parallel()
	good := snapshot(func(s *cloud.Snapshot) { s.Ref.ID = "snap-2"; s.TakenAt = s.TakenAt.Add(time.Minute) })
	failed := snapshot(func(s *cloud.Snapshot) { s.State = cloud.StateFailed })
	backups, _ := assemble(found{account: account(), snapshot: []cloud.Snapshot{failed, good}, now: noon()})
	if len(backups) != 1 || backups[0].Status.Phase != v1.BackupCompleted || backups[0].Status.Snapshots[0].ID != "snap-2" {
		t.Errorf("found %+v", backups)
	}
}
