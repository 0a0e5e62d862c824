package backup_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/controllers/backup"
	"github.com/shopfleet/shopfleet/hub/logicalbackup"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

// dumps ends the hub at each request for a Backup whose dump is sent to a bucket.
func (e *crashes) dumps(t *testing.T) {
	d := &crashes{Env: e.Env, method: v1.BackupDump}
	backupenv.Change(t, d.Env, backupenv.Shop, func(a *v1.EcommerceApp) {
		a.Spec.Database.Backup = v1.BackupPolicy{Enabled: true, Method: v1.BackupDump, Schedule: "0 2 * * *"}
	})
	d.CreateCronJob(t)
	d.RunMember(t)
	d.JobExit = d.jobExit
	t.Run("while a dump is made", d.whileDumped)
	t.Run("before a dump that is being made is deleted", d.beforeDumpDeletion)
	t.Run("while a dump is deleted", d.whileDumpDeleted)
	t.Run("a member that denies Jobs", d.deniedUntilDeadline)
}

// jobExit has a Job dump the database, or send the dump.
func (e *crashes) jobExit(t *testing.T, job *batchv1.Job) backupenv.Exit {
	t.Helper()
	const content = "content"
	if job.Spec.Template.Spec.Containers[0].Name == jobs.SendContainer {
		prefix := e.Backup(t, job.Labels[v1.BackupLabel]).Status.Dump.Object.Prefix
		e.Buckets.Put(logicalbackup.PartKey(prefix, 0), []byte(content))
		return backupenv.Exit{Container: jobs.SendContainer, Message: "sent"}
	}
	at := e.Clock.Now().UTC().Format(time.RFC3339)
	return backupenv.Exit{Container: backupenv.DumpContainer, Message: fmt.Sprintf(
		`{"file": "backup-20260302T020000Z.dump", "bytes": %d, "sha256": %q, "engine": "postgresql", "version": "15.4", "snapshotTime": %q, "completionTime": %q}`,
		len(content), strings.Repeat("0", 64), at, at)}
}

// whileDumped: one Job dumps, and one sends, whenever the hub ends.
func (e *crashes) whileDumped(t *testing.T) {
	for _, crash := range e.crashesOf(t, e.complete) {
		t.Run(crash.String(), func(t *testing.T) {
			key := e.create(t)
			sent := crash.Arrived(e.crash(t, key, crash, e.complete))
			sent = append(sent, e.finish(t, key, e.complete)...)
			if n := count(sent, "create *v1.Job"); n != 2 {
				t.Errorf("%d of 2 Jobs: %q", n, sent)
			}
			if s := e.Backup(t, key.Name).Status.Dump.Object.State; s != v1.DumpSent {
				t.Errorf("the dump is %s", s)
			}
			e.inBucket(t, key, 2)
		})
	}
}

// deniedUntilDeadline: a Backup whose Job is denied for good ends at its deadline, and says
// why. Until then it is tried rarely.
func (e *crashes) deniedUntilDeadline(t *testing.T) {
	e.DenyJobs(t, backupenv.Namespace)
	key := e.create(t)
	sent := e.finish(t, key, func(t *testing.T, key client.ObjectKey) bool {
		t.Helper()
		return backup.Done(e.Backup(t, key.Name))
	})
	b := e.Backup(t, key.Name)
	wanted := []string{"the point in time could not be fixed within 6h0m0s: eu-1 does not accept the Job", fleettest.Denial}
	if s := b.Status; s.Phase != v1.BackupFailed || !strings.HasPrefix(s.Message, wanted[0]) || !strings.Contains(s.Message, wanted[1]) {
		t.Errorf("it is %s: %q, want %q in it", s.Phase, s.Message, wanted)
	}
	if took := b.Status.CompletionTime.Sub(b.Status.StartTime.Time); took > 6*time.Hour+2*time.Minute { // 30 % of the last wait may be added to it.
		t.Errorf("it ended after %s", took)
	}
	if n := count(sent, "create *v1.Job"); n < 50 || n > 75 {
		t.Errorf("%d attempts in 6 h, want one in 5 to 6.5 min", n)
	}
}

// beforeDumpDeletion: nothing is left in the bucket, and no Job can send more.
func (e *crashes) beforeDumpDeletion(t *testing.T) {
	for _, crash := range e.crashesOf(t, e.complete) {
		t.Run(crash.String(), func(t *testing.T) {
			key := e.create(t)
			e.crash(t, key, crash, e.complete)
			e.delete(t, key, v1.DeletionDelete)
			e.finish(t, key, e.gone)
			e.RunMember(t)
			e.inBucket(t, key, 0)
		})
	}
}

// whileDumpDeleted: the dump goes with the Backup, or stays when it is to be retained.
func (e *crashes) whileDumpDeleted(t *testing.T) {
	for deletion, left := range map[v1.DeletionPolicy]int{v1.DeletionDelete: 0, v1.DeletionRetain: 2} {
		deleted := func(t *testing.T) client.ObjectKey {
			t.Helper()
			key := e.create(t)
			e.finish(t, key, e.complete)
			e.delete(t, key, deletion)
			return key
		}
		for _, crash := range e.crashesAfter(t, deleted, e.gone) {
			t.Run(string(deletion)+" "+crash.String(), func(t *testing.T) {
				key := deleted(t)
				e.crash(t, key, crash, e.gone)
				e.finish(t, key, e.gone)
				e.inBucket(t, key, left)
			})
		}
	}
}

// inBucket checks how many objects of a Backup are in the bucket: a part and a manifest.
func (e *crashes) inBucket(t *testing.T, key client.ObjectKey, want int) {
	t.Helper()
	got := 0
	for _, object := range e.Buckets.Keys() {
		if strings.Contains(object, "/"+key.Name+"-") {
			got++
		}
	}
	if got != want {
		t.Errorf("%d of %d objects are in the bucket: %q", got, want, e.Buckets.Keys())
	}
}
