package backup

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	backupdump "github.com/shopfleet/shopfleet/hub/data/backup/dump"
)

// TestTakenOfNothing checks that a good backup stays good if its database is lost later.
func TestTakenOfNothing(t *testing.T) {
	t.Parallel()
	taken := now()
	snapshot := v1.BackupStatus{
		SnapshotTime: &metav1.Time{Time: taken}, Snapshots: []v1.VolumeSnapshot{{Claim: "c", Volume: "vol-1"}},
	}
	dump := v1.BackupStatus{SnapshotTime: &metav1.Time{Time: taken}, Dump: &v1.DumpFile{File: "f"}}
	same, another := map[string]string{"c": "vol-1"}, map[string]string{"c": "vol-2"}
	for name, tt := range map[string]struct {
		status  v1.BackupStatus
		noticed time.Time
		volumes map[string]string
		want    bool
	}{
		"of the empty volume, lost before":        {snapshot, taken.Add(-time.Minute), same, true},
		"of the empty volume, noticed soon after": {snapshot, taken.Add(time.Minute), same, true},
		"of the volume that was emptied later":    {snapshot, taken.Add(2 * time.Hour), same, false},
		"of the volume before":                    {snapshot, taken.Add(time.Minute), another, false},
		"of a volume whose claim is gone":         {snapshot, taken.Add(time.Minute), nil, false},
		"a dump, lost before":                     {dump, taken.Add(-time.Minute), nil, true},
		"a dump, lost after":                      {dump, taken.Add(time.Second), same, false},
		"not taken":                               {v1.BackupStatus{}, taken, same, false},
	} {
		if got := takenOfNothing(&tt.status, tt.noticed, tt.volumes); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestNoticedAt checks that no clock of a member makes a loss later than it was reported.
func TestNoticedAt(t *testing.T) {
	t.Parallel()
	at := func(status metav1.ConditionStatus, d time.Duration) []metav1.Condition {
		return []metav1.Condition{{Type: v1.ConditionDatabaseLost, Status: status, LastTransitionTime: metav1.NewTime(now().Add(d))}}
	}
	for name, tt := range map[string]struct {
		conditions []metav1.Condition
		want       time.Time
		lost       bool
	}{
		"never":         {nil, time.Time{}, false},
		"not any more":  {at(metav1.ConditionFalse, -time.Hour), time.Time{}, false},
		"an hour ago":   {at(metav1.ConditionTrue, -time.Hour), now().Add(-time.Hour), true},
		"in the future": {at(metav1.ConditionTrue, 48*time.Hour), now(), true},
	} {
		if got, lost := noticedAt(tt.conditions, now()); !got.Equal(tt.want) || lost != tt.lost {
			t.Errorf("%s: %s, %t", name, got, lost)
		}
	}
}

// TestALostDatabaseIsWaitedFor checks that a Backup waits for a lost database within the limit until the snapshot,
// and names the loss afterwards.
func TestALostDatabaseIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWork(emptyHub{}, nil)
	if result := w.limitToSnapshot(backupdump.Lost(w.backup)); result.Fatal || result.Wait <= 0 {
		t.Errorf("%+v, want to wait", result)
	}
	w.now = now().Add(snapshotTimeout + time.Second)
	for _, method := range []v1.BackupMethod{v1.BackupSnapshot, v1.BackupDump} {
		w.backup.Spec.Method, w.backup.Status.SnapshotTime = method, nil
		if result := w.limitToSnapshot(backupdump.Lost(w.backup)); !result.Fatal || result.Reason != v1.ReasonDatabaseLost {
			t.Errorf("%s: %+v, want it to fail with the reason", method, result)
		}
	}
	// A member that does not answer says nothing about its database.
	if result, err := w.checkDatabase(t.Context()); result.Stops() || err != nil {
		t.Errorf("%+v, %v of a member that does not answer", result, err)
	}
}

// losingHub is a hub with an application whose database is lost in of-prod.
type losingHub struct{ emptyHub }

func (h losingHub) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	app, is := o.(*v1.EcommerceApp)
	if !is {
		return h.emptyHub.Get(ctx, key, o, opts...)
	}
	app.UID, app.Status.Clusters = "app-1", []v1.ClusterStatus{{Name: "of-prod", DatabaseLost: true}}
	return nil
}

// TestDataOfALostDatabaseIsKept checks that data of a lost database is kept although retention has begun to delete
// it; a deletion by a user proceeds.
func TestDataOfALostDatabaseIsKept(t *testing.T) {
	t.Parallel()
	pruned := map[string]string{v1.PrunedAnnotation: "true"}
	for name, tt := range map[string]struct {
		annotations  map[string]string
		app, cluster string
		want         string
	}{
		"pruned":                         {pruned, "app-1", "of-prod", v1.ReasonDatabaseLost},
		"deleted by a user":              {nil, "app-1", "of-prod", ""},
		"of an application before":       {pruned, "app-0", "of-prod", ""},
		"of a database that is not lost": {pruned, "app-1", "bare", ""},
	} {
		w := newWork(losingHub{}, nil)
		w.sending()
		w.backup.Annotations, w.backup.Status.AppUID, w.backup.Spec.ClusterRef.Name = tt.annotations, tt.app, tt.cluster
		if result, err := w.mayDelete(t.Context()); err != nil || result.Reason != tt.want || result.Fatal {
			t.Errorf("%s: %+v, %v, want the reason %q", name, result, err, tt.want)
		}
	}
}
