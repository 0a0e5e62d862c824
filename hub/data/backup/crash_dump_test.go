package backup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

// dumpCrashes ends the hub at each request for a Backup whose dump is sent to a bucket.
func (c *crashes) dumpCrashes(t *testing.T) {
	d := &crashes{Env: c.Env, method: v1.BackupDump}
	backupenv.Change(t, d.Env, backupenv.Shop, func(a *v1.EcommerceApp) {
		a.Spec.Database.Backup = v1.BackupPolicy{Enabled: true, Method: v1.BackupDump, Schedule: "0 2 * * *"}
	})
	d.CreateCronJob(t)
	d.RunMember(t)
	d.JobExit = d.jobExit
	t.Run("dumps that were removed early", d.removedEarly)
	t.Run("while a dump is made", d.whileDumped)
	t.Run("before a dump that is being made is deleted", d.beforeDeletion)
	t.Run("while a dump is deleted", d.whileDeleted)
	t.Run("a Job that is not created", d.notCreated)
	t.Run("a member that denies Jobs", d.deniedUntilDeadline)
}

// jobExit makes a Job dump the database, or send the dump.
func (c *crashes) jobExit(t *testing.T, job *batchv1.Job) backupenv.Exit {
	t.Helper()
	const content = "content"
	if job.Spec.Template.Spec.Containers[0].Name == jobs.SendContainer {
		prefix := c.Backup(t, job.Labels[v1.BackupLabel]).Status.Dump.Object.Prefix
		c.Buckets.Put(dumps.PartKey(prefix, 0), []byte(content))
		return backupenv.Exit{Container: jobs.SendContainer, Message: "sent"}
	}
	at := c.Clock.Now().UTC().Format(time.RFC3339)
	return backupenv.Exit{Container: backupenv.DumpContainer, Message: fmt.Sprintf(
		`{"file": "backup-20260302T020000Z.dump", "bytes": %d, "sha256": %q, "engine": "postgresql", "version": "15.4", "snapshotTime": %q, "completionTime": %q}`,
		len(content), strings.Repeat("0", 64), at, at)}
}

// whileDumped checks that one Job dumps and one sends, whenever the hub is killed.
func (c *crashes) whileDumped(t *testing.T) {
	c.TestCrashes(t, c.making(func(t *testing.T, key client.ObjectKey, sent []string) {
		t.Helper()
		if n := backupenv.Count(sent, "create jobs.batch"); n != 2 {
			t.Errorf("%d of 2 Jobs: %q", n, sent)
		}
		if s := c.Backup(t, key.Name).Status.Dump.Object.State; s != v1.DumpSent {
			t.Errorf("the dump is %s", s)
		}
		c.stored(t, key, true)
	}))
}

// notCreated checks that passes that cannot create the Job that sends rarely write the status, and become rare.
func (c *crashes) notCreated(t *testing.T) {
	key, p := c.create(t), c.NewProcess(t, backupenv.Crash{})
	p.Run(t, c.reconciler(p), key, func() bool { return c.Backup(t, key.Name).Status.Dump != nil })
	p.Refuse("create jobs.batch", apierrors.NewInternalError(errors.New("failed calling webhook")))
	const write = "patch backups.ecommerce.io/status"
	begin, before, passes := c.Clock.Now(), backupenv.Count(p.Sent(), write), 0
	p.Run(t, c.reconciler(p), key, func() bool { passes++; return passes == 30 })
	took := c.Clock.Since(begin)
	if n := backupenv.Count(p.Sent(), write) - before; n > 2+int(took/(2*time.Minute)) {
		t.Errorf("%d writes of the status in %d passes and %s, want 2 and one in 2 min", n, passes, took)
	}
	if took < 15*time.Minute {
		t.Errorf("%d passes in %s", passes, took)
	}
	p.Refuse("create jobs.batch", nil)
	p.Run(t, c.reconciler(p), key, func() bool { return c.complete(t, key) })
	c.stored(t, key, true)
}

// deniedUntilDeadline checks that a Backup whose Job is denied for good ends at its deadline, and says why. Until
// then it is tried rarely.
func (c *crashes) deniedUntilDeadline(t *testing.T) {
	c.DenyJobs(t, backupenv.Namespace)
	key, p := c.create(t), c.NewProcess(t, backupenv.Crash{})
	p.Run(t, c.reconciler(p), key, func() bool { return Done(c.Backup(t, key.Name)) })
	s := c.Backup(t, key.Name).Status
	wanted := []string{"the backup was not taken within 6h0m0s: eu-1 rejects the Job", fleettest.Denial}
	if s.Phase != v1.BackupFailed || !strings.HasPrefix(s.Message, wanted[0]) || !strings.Contains(s.Message, wanted[1]) {
		t.Errorf("it is %s: %q, want %q in it", s.Phase, s.Message, wanted)
	}
	if took := s.CompletionTime.Sub(s.StartTime.Time); took > 6*time.Hour+2*time.Minute { // 30 % of the last wait may be added to it.
		t.Errorf("it ended after %s", took)
	}
	if n := backupenv.Count(p.Sent(), "create jobs.batch"); n < 50 || n > 75 {
		t.Errorf("%d attempts in 6 h, want one in 5 to 6.5 min", n)
	}
}

// inBucket returns the objects of a Backup in the bucket.
func (c *crashes) inBucket(key client.ObjectKey) []string {
	return slices.DeleteFunc(c.Buckets.Keys(), func(object string) bool { return !strings.Contains(object, "/"+key.Name+"-") })
}
