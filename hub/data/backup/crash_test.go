package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
)

// lag is after how long the cloud shows what it has made.
const lag = cloud.VisibilityWindow - 5*time.Second

// crashes is an environment whose cloud shows late what it has made, as EC2 may.
type crashes struct {
	*backupenv.Env
	method v1.BackupMethod
	// backups is how many were created.
	backups int
	// recorder has the events of the last process.
	recorder *events.FakeRecorder
	// passed is how far the provider's clock is ahead of the API server's.
	passed time.Duration
	// exec answers commands in databases.
	exec func() string
}

// TestBackups shares one environment, which takes seconds to start.
func TestBackups(t *testing.T) {
	env := backupenv.Start(t)
	env.CreateShop(t)
	e := &crashes{Env: env, method: v1.BackupSnapshot}
	t.Run("checkpoints", e.checkpoints)
	t.Run("whether a dump is sent", e.whetherADumpIsSent)
	t.Run("crashes", e.snapshotCrashes)
	t.Run("crashes of dumps", e.dumpCrashes)
}

// snapshotCrashes ends the hub at each request for a Backup of snapshots.
func (c *crashes) snapshotCrashes(t *testing.T) {
	c.Cloud.SetPace(fake.Pace{Lag: lag, Ready: lag})
	c.Clock.Step(time.Hour) // The volume is visible.
	t.Run("while a backup is made", c.whileMade)
	t.Run("before a backup that is being made is deleted", c.beforeDeletion)
	t.Run("while a backup is deleted", c.whileDeleted)
	t.Run("lost responses", c.testLostResponses)
	t.Run("used by a Restore", c.used)
	t.Run("paused", c.paused)
	t.Run("locked", c.locked)
}

// making returns a test of a hub that makes a Backup.
func (c *crashes) making(check func(t *testing.T, key client.ObjectKey, sent []string)) backupenv.CrashTest {
	return backupenv.CrashTest{Reconciler: c.reconciler, Create: c.create, Done: c.complete, Check: check}
}

// whileMade checks that one snapshot and one copy are made, whenever the hub is killed.
func (c *crashes) whileMade(t *testing.T) {
	c.TestCrashes(t, c.making(func(t *testing.T, key client.ObjectKey, sent []string) {
		t.Helper()
		for _, request := range []string{"CreateSnapshot", "CopySnapshot"} {
			if n := backupenv.Count(sent, request); n != 1 {
				t.Errorf("%d of 1 %s: %q", n, request, sent)
			}
		}
		c.stored(t, key, true)
		status := c.Backup(t, key.Name).Status
		if want := positionAfter(0); status.Position != want {
			t.Errorf("the position is %q, and before the first request it was %q", status.Position, want)
		}
		for _, s := range status.Snapshots {
			c.exists(t, &s.CloudSnapshot)
			c.exists(t, &s.Copies[0])
		}
	}))
}

// beforeDeletion checks that nothing that was requested is left, whether or not the hub got the response.
func (c *crashes) beforeDeletion(t *testing.T) {
	test := c.making(func(t *testing.T, key client.ObjectKey, _ []string) {
		t.Helper()
		c.RunMember(t) // No Job may send more.
		c.stored(t, key, false)
	})
	test.Crashed = func(t *testing.T, key client.ObjectKey) { t.Helper(); c.delete(t, key, v1.DeletionDelete) }
	test.Recovered = c.gone
	c.TestCrashes(t, test)
}

// whileDeleted checks that the data is deleted with the Backup, or stays if it is to be retained.
func (c *crashes) whileDeleted(t *testing.T) {
	for deletion, left := range map[v1.DeletionPolicy]bool{v1.DeletionDelete: false, v1.DeletionRetain: true} {
		test := c.making(func(t *testing.T, key client.ObjectKey, _ []string) { t.Helper(); c.stored(t, key, left) })
		test.Done = c.gone
		test.Create = func(t *testing.T) client.ObjectKey {
			t.Helper()
			key := c.create(t)
			c.finish(t, key, c.complete)
			c.delete(t, key, deletion)
			return key
		}
		t.Run(string(deletion), func(t *testing.T) { c.TestCrashes(t, test) })
	}
}

// testLostResponses checks that an object that was created twice, because the first was not visible yet, is deleted.
func (c *crashes) testLostResponses(t *testing.T) {
	for _, request := range []string{"CreateSnapshot", "CopySnapshot"} {
		test := c.making(func(t *testing.T, key client.ObjectKey, sent []string) {
			t.Helper()
			if n := backupenv.Count(sent, request); n != 2 {
				t.Errorf("%d of 2 %s: %q", n, request, sent)
			}
			if got, want := c.Backup(t, key.Name).Status.Position, positionAfter(0); got != want {
				t.Errorf("the position is %q, and before the first request it was %q", got, want)
			}
			c.stored(t, key, true)
		})
		test.Lost = request
		// It becomes visible after the hub may ask again, and before what that makes must be.
		test.Crashed = func(t *testing.T, key client.ObjectKey) {
			t.Helper()
			for _, s := range c.snapshots(key) {
				c.Cloud.EditSnapshot(s.ID, func(s *fake.Snapshot) {
					if !s.Created.Before(c.Clock.Now()) {
						s.Created = s.Created.Add(35 * time.Second)
					}
				})
			}
		}
		c.TestCrashes(t, test)
	}
}

// used checks that a Backup stays as long as a Restore in progress needs it.
func (c *crashes) used(t *testing.T) {
	key := c.create(t)
	c.finish(t, key, c.complete)
	restore := apitest.Restore("restore").Namespace(key.Namespace).From(key.Name).Obj()
	c.MustCreate(t, restore)
	c.delete(t, key, v1.DeletionDelete)
	c.finish(t, key, func(t *testing.T, key client.ObjectKey) bool {
		t.Helper()
		return strings.Contains(c.Backup(t, key.Name).Status.Message, "restore")
	})
	for range len(c.recorder.Events) {
		if event := <-c.recorder.Events; strings.HasPrefix(event, corev1.EventTypeWarning) {
			t.Errorf("an event about a Backup that waits for a Restore: %s", event)
		}
	}
	c.stored(t, key, true)
	restore.Status.Phase = v1.RestoreCompleted
	if err := c.Status().Update(t.Context(), restore); err != nil {
		t.Fatal(err)
	}
	c.finish(t, key, c.gone)
	c.stored(t, key, false)
}

// finish runs a hub until a Backup is done.
func (c *crashes) finish(t *testing.T, key client.ObjectKey, done func(*testing.T, client.ObjectKey) bool) {
	t.Helper()
	p := c.NewProcess(t, backupenv.Crash{})
	p.Run(t, c.reconciler(p), key, func() bool { return done(t, key) })
}

func (c *crashes) reconciler(p *backupenv.Process) reconcile.Reconciler {
	c.recorder = events.NewFakeRecorder(100)
	return NewReconciler(p.Client, Options{
		HubUID: backupenv.HubUID, Accounts: p.Accounts, Member: p.Member, Clock: c.Clock, Recorder: c.recorder, SpokeImage: "spoke:1",
		SafeMode: c.SafeMode,
		// The time of a deletion is the API server's, and the hub's clock is moved by the tests.
		Skew: func(string) (time.Duration, bool) {
			return clock.RealClock{}.Now().Add(c.passed).Sub(c.Clock.Now()), true
		},
		Exec: func(context.Context, cluster.Cluster, podexec.Container, podexec.Command) (string, error) {
			return c.exec(), nil
		},
	})
}

func (c *crashes) create(t *testing.T) client.ObjectKey {
	t.Helper()
	c.backups++
	b := apitest.Backup(fmt.Sprintf("%s-%d", strings.ToLower(string(c.method)), c.backups)).Namespace(backupenv.Namespace).Obj()
	if b.Spec.Method = c.method; c.method == v1.BackupSnapshot {
		b.Spec.CopyToRegions = []string{backupenv.CopyRegion}
	}
	c.MustCreate(t, b)
	key := client.ObjectKeyFromObject(b)
	c.exec = func() string { return positionAfter(len(c.snapshots(key))) }
	return key
}

// positionAfter returns the position of a database that has some snapshots.
func positionAfter(snapshots int) string {
	return fmt.Sprintf("7412345678901234567 1 0/%X", snapshots+1)
}

func (c *crashes) delete(t *testing.T, key client.ObjectKey, deletion v1.DeletionPolicy) {
	t.Helper()
	b := c.Backup(t, key.Name)
	b.Spec.Deletion = deletion
	if err := c.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func (c *crashes) complete(t *testing.T, key client.ObjectKey) bool {
	t.Helper()
	b := c.Backup(t, key.Name)
	if b.Status.Phase == v1.BackupFailed {
		t.Fatalf("the Backup failed: %s", b.Status.Message)
	}
	return b.Status.Phase == v1.BackupCompleted
}

func (c *crashes) gone(t *testing.T, key client.ObjectKey) bool {
	t.Helper()
	return c.Gone(t, key, &v1.Backup{})
}

// stored checks whether all data of a Backup is stored, or none: snapshots in both regions,
// visible or not, or a part of a dump and its manifest.
func (c *crashes) stored(t *testing.T, key client.ObjectKey, all bool) {
	t.Helper()
	got, want := c.inBucket(key), 2
	if c.method == v1.BackupSnapshot {
		got = nil
		for _, s := range c.snapshots(key) {
			got = append(got, s.Region)
		}
	}
	if !all {
		want = 0
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(got))); len(got) != want || len(unique) != want {
		t.Errorf("%q are stored, want %d", got, want)
	}
}

func (c *crashes) snapshots(key client.ObjectKey) []fake.Snapshot {
	return slices.DeleteFunc(c.Cloud.Snapshots(), func(s fake.Snapshot) bool { return s.Tags[cloud.TagBackup] != key.Name })
}

func (c *crashes) exists(t *testing.T, snapshot *v1.CloudSnapshot) {
	t.Helper()
	if _, there := c.Cloud.Snapshot(snapshot.ID); !there {
		t.Errorf("there is no snapshot %q in %s", snapshot.ID, snapshot.Region)
	}
}
