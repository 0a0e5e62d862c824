package backup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
)

// removedEarly checks that a dump that fails on a full claim names the removed dumps, and that their Backups say so
// unless they are in a bucket.
func (c *crashes) removedEarly(t *testing.T) {
	exit := c.JobExit
	defer func() { c.JobExit = exit }()
	c.JobExit = func(*testing.T, *batchv1.Job) backupenv.Exit {
		return backupenv.Exit{Container: backupenv.DumpContainer, Code: 1, Message: "The claim is full\nDumps up to 20260202T020000Z were removed before their retention ended\n"}
	}
	phases := map[string]v1.BackupPhase{}
	for name, tt := range map[string]struct {
		file   string
		change func(*v1.Backup)
		want   v1.BackupPhase
	}{
		"older":      {"backup-20260201T020000Z.dump", nil, v1.BackupFailed},
		"the-newest": {"backup-20260202T020000Z.sql.gz", nil, v1.BackupFailed},
		"kept":       {"backup-20260203T020000Z.dump", nil, v1.BackupCompleted},
		"sent": {"backup-20260201T020000Z.dump", func(b *v1.Backup) {
			b.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Prefix: "p", State: v1.DumpSent}
		}, v1.BackupCompleted},
		"not-all-sent": {"backup-20260201T020000Z.dump", func(b *v1.Backup) {
			b.Status.Phase = v1.BackupPartiallyCompleted
			b.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Prefix: "p", State: v1.DumpSending}
		}, v1.BackupFailed},
		"elsewhere":        {"backup-20260201T020000Z.dump", func(b *v1.Backup) { b.Spec.ClusterRef.Name = "us-1" }, v1.BackupCompleted},
		"another-claim":    {"backup-20260201T020000Z.dump", func(b *v1.Backup) { b.Status.Dump.Claim = "other" }, v1.BackupCompleted},
		"another-database": {"backup-20260201T020000Z.dump", func(b *v1.Backup) { b.Spec.AppRef.Name = "other" }, v1.BackupCompleted},
	} {
		b := apitest.Backup(name).Namespace(backupenv.Namespace).With(func(b *v1.Backup) {
			b.Spec.Method = v1.BackupDump
			b.Status = v1.BackupStatus{
				Phase: v1.BackupCompleted, SnapshotTime: &metav1.Time{Time: now()},
				Dump: &v1.DumpFile{Claim: backupenv.Shop + "-database-backup", File: tt.file},
			}
			if tt.change != nil {
				tt.change(b)
			}
		}).Obj()
		status := b.Status
		c.MustCreate(t, b)
		b.Status = status
		if err := c.Status().Update(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		phases[name] = tt.want
	}
	key := c.create(t)
	c.finish(t, key, func(t *testing.T, key client.ObjectKey) bool { t.Helper(); return Done(c.Backup(t, key.Name)) })
	got := map[string]v1.BackupPhase{}
	for name, want := range phases {
		b := c.Backup(t, name)
		got[name] = b.Status.Phase
		if want == v1.BackupFailed && (readyOf(b).Reason != v1.ReasonDumpMissing || readyOf(b).Status != metav1.ConditionFalse) {
			t.Errorf("%s: Ready is %+v", name, readyOf(b))
		}
		if err := c.Delete(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(phases, got); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}
