package printers

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// backup returns a Backup whose snapshot is some hours old.
func backup(name string, hours int, change func(*v1.BackupStatus)) v1.Backup {
	b := v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: name},
		Spec:       v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}},
		Status:     v1.BackupStatus{Phase: v1.BackupCompleted, SnapshotTime: ago(time.Duration(hours) * time.Hour)},
	}
	change(&b.Status)
	return b
}

func TestBackups(t *testing.T) {
	dump := func(file string, object *v1.DumpObject) func(*v1.BackupStatus) {
		return func(s *v1.BackupStatus) { s.Dump = &v1.DumpFile{Claim: "shop-dumps", File: file, Object: object} }
	}
	object := func(state v1.DumpObjectState) *v1.DumpObject {
		return &v1.DumpObject{Bucket: "archive", Prefix: "p", State: state}
	}
	backups := []v1.Backup{
		backup("nothing-yet", 9, func(*v1.BackupStatus) {}),
		backup("dumping", 8, dump("", nil)),
		backup("local", 7, dump("backup.dump", nil)),
		backup("waiting", 6, dump("backup.dump", object(""))),
		backup("sending", 5, dump("backup.dump", object(v1.DumpSending))),
		backup("sent", 4, dump("backup.dump", object(v1.DumpSent))),
		backup("snapshots", 3, func(s *v1.BackupStatus) {
			s.Snapshots = []v1.VolumeSnapshot{{Claim: "data", CloudSnapshot: v1.CloudSnapshot{Region: "eu-west-1", State: "Ready"}}}
			s.Steps = []v1.StepStatus{{Name: "Snapshot"}, {Name: "Copy"}}
			s.Snapshots[0].Copies = []v1.CloudSnapshot{{Region: "us-east-1", State: "Copying"}, {Region: "us-west-2"}}
		}),
	}
	NewestFirst(backups)
	check(t, Text(Backups(backups, now()), Options{Wide: true}), `
NAME          APP    CLUSTER   PHASE       SIZE   AGE   MESSAGE   STEP   CONSISTENCY   PLACES                                              VERIFIED
snapshots     shop   eu-1      Completed   -      3h    -         Copy   -             eu-west-1,us-east-1 (Copying),us-west-2 (missing)   -
sent          shop   eu-1      Completed   -      4h    -         -      -             claim/shop-dumps,bucket/archive                     -
sending       shop   eu-1      Completed   -      5h    -         -      -             claim/shop-dumps,bucket/archive (Sending)           -
waiting       shop   eu-1      Completed   -      6h    -         -      -             claim/shop-dumps,bucket/archive (waiting)           -
local         shop   eu-1      Completed   -      7h    -         -      -             claim/shop-dumps                                    -
dumping       shop   eu-1      Completed   -      8h    -         -      -             claim/shop-dumps (Dumping)                          -
nothing-yet   shop   eu-1      Completed   -      9h    -         -      -             -                                                   -
`)
}
