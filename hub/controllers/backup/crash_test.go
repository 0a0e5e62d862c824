package backup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/controllers/backup"
)

// lag is after how long the cloud shows what it has made.
const lag = cloud.VisibilityWindow - 5*time.Second

// crashes is an environment whose cloud shows late what it has made, as EC2 may.
type crashes struct {
	*backupenv.Env
	method v1.BackupMethod
	// backups is how many were created.
	backups int
}

// TestCrashes ends the hub at each request that changes something.
func TestCrashes(t *testing.T) {
	e := &crashes{Env: backupenv.Start(t), method: v1.BackupSnapshot}
	e.CreateShop(t)
	e.Cloud.SetPace(fake.Pace{Lag: lag, Ready: lag})
	e.Clock.Step(time.Hour) // The volume is visible.
	t.Run("while a backup is made", e.whileMade)
	t.Run("before a backup that is being made is deleted", e.beforeDeletion)
	t.Run("while a backup is deleted", e.whileDeleted)
	t.Run("lost answers", e.lostAnswers)
	t.Run("used by a Restore", e.used)
	t.Run("dumps", e.dumps)
}

// whileMade: one snapshot and one copy are made, whenever the hub ends.
func (e *crashes) whileMade(t *testing.T) {
	for _, crash := range e.crashesOf(t, e.complete) {
		t.Run(crash.String(), func(t *testing.T) {
			key := e.create(t)
			sent := crash.Arrived(e.crash(t, key, crash, e.complete))
			sent = append(sent, e.finish(t, key, e.complete)...)
			for _, request := range []string{"CreateSnapshot", "CopySnapshot"} {
				if n := count(sent, request); n != 1 {
					t.Errorf("%d of 1 %s: %q", n, request, sent)
				}
			}
			e.stored(t, key, backupenv.Region, backupenv.CopyRegion)
			for _, s := range e.Backup(t, key.Name).Status.Snapshots {
				e.exists(t, &s.CloudSnapshot)
				e.exists(t, &s.Copies[0])
			}
		})
	}
}

// beforeDeletion: nothing that was asked for is left, whether or not the hub heard of it.
func (e *crashes) beforeDeletion(t *testing.T) {
	for _, crash := range e.crashesOf(t, e.complete) {
		t.Run(crash.String(), func(t *testing.T) {
			key := e.create(t)
			e.crash(t, key, crash, e.complete)
			e.delete(t, key, v1.DeletionDelete)
			e.finish(t, key, e.gone)
			e.stored(t, key)
		})
	}
}

// whileDeleted: the snapshots go with the Backup, or stay when they are to be retained.
func (e *crashes) whileDeleted(t *testing.T) {
	for deletion, left := range map[v1.DeletionPolicy][]string{
		v1.DeletionDelete: nil,
		v1.DeletionRetain: {backupenv.Region, backupenv.CopyRegion},
	} {
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
				e.stored(t, key, left...)
			})
		}
	}
}

// lostAnswers: what is made twice, because it was not visible when it was looked for, is
// deleted.
func (e *crashes) lostAnswers(t *testing.T) {
	for _, crash := range e.crashesOf(t, e.complete) {
		if !crash.Arrives || crash.Request != "CreateSnapshot" && crash.Request != "CopySnapshot" {
			continue
		}
		t.Run(crash.String(), func(t *testing.T) {
			key := e.create(t)
			sent := e.crash(t, key, crash, e.complete)
			// It becomes visible after the hub may ask again, and before what that makes must be.
			for _, s := range e.snapshots(key) {
				e.Cloud.EditSnapshot(s.ID, func(s *fake.Snapshot) {
					if !s.Created.Before(e.Clock.Now()) {
						s.Created = s.Created.Add(35 * time.Second)
					}
				})
			}
			sent = append(sent, e.finish(t, key, e.complete)...)
			if n := count(sent, crash.Request); n != 2 {
				t.Errorf("%d of 2 %s: %q", n, crash.Request, sent)
			}
			e.stored(t, key, backupenv.Region, backupenv.CopyRegion)
		})
	}
}

// used: a Backup stays for as long as a Restore that is under way needs it.
func (e *crashes) used(t *testing.T) {
	key := e.create(t)
	e.finish(t, key, e.complete)
	restore := apitest.Restore("restore").Namespace(key.Namespace).From(key.Name).Obj()
	e.MustCreate(t, restore)
	e.delete(t, key, v1.DeletionDelete)
	e.finish(t, key, func(t *testing.T, key client.ObjectKey) bool {
		t.Helper()
		return strings.Contains(e.Backup(t, key.Name).Status.Message, "restore")
	})
	e.stored(t, key, backupenv.Region, backupenv.CopyRegion)
	restore.Status.Phase = v1.RestoreCompleted
	if err := e.Status().Update(t.Context(), restore); err != nil {
		t.Fatal(err)
	}
	e.finish(t, key, e.gone)
	e.stored(t, key)
}

func count(sent []string, request string) int {
	n := 0
	for _, s := range sent {
		if s == request {
			n++
		}
	}
	return n
}

// goal reports whether nothing more is to be done for a Backup.
type goal func(t *testing.T, key client.ObjectKey) bool

// crashesOf returns all crashes of a hub that makes a Backup.
func (e *crashes) crashesOf(t *testing.T, done goal) []backupenv.Crash {
	t.Helper()
	return e.crashesAfter(t, e.create, done)
}

// crashesAfter returns all crashes of a hub that works on a Backup, by its requests when
// there is none.
func (e *crashes) crashesAfter(t *testing.T, prepare func(*testing.T) client.ObjectKey, done goal) []backupenv.Crash {
	t.Helper()
	p, key := e.NewProcess(backupenv.Crash{}), prepare(t)
	e.run(t, p, key, done)
	all := p.Crashes()
	if len(all) == 0 {
		t.Fatal("no request changes anything")
	}
	return all
}

// crash runs a hub that ends, and returns its requests.
func (e *crashes) crash(t *testing.T, key client.ObjectKey, crash backupenv.Crash, done goal) []string {
	t.Helper()
	p := e.NewProcess(crash)
	if e.run(t, p, key, done) {
		t.Fatalf("the hub did not end: %q", p.Sent())
	}
	return p.Sent()
}

// finish runs a hub until a Backup is done, and returns its requests.
func (e *crashes) finish(t *testing.T, key client.ObjectKey, done goal) []string {
	t.Helper()
	p := e.NewProcess(backupenv.Crash{})
	e.run(t, p, key, done)
	return p.Sent()
}

func (e *crashes) run(t *testing.T, p *backupenv.Process, key client.ObjectKey, done goal) bool {
	t.Helper()
	r := backup.NewReconciler(p.Client, backup.Options{
		HubUID: backupenv.HubUID, Accounts: p.Accounts, Member: p.Member, Clock: e.Clock, Recorder: events.NewFakeRecorder(100), SpokeImage: "spoke:1",
	})
	return p.Run(t, r, key, func() bool { return done(t, key) })
}

func (e *crashes) create(t *testing.T) client.ObjectKey {
	t.Helper()
	e.backups++
	b := apitest.Backup(fmt.Sprintf("%s-%d", strings.ToLower(string(e.method)), e.backups)).Namespace(backupenv.Namespace).Obj()
	if b.Spec.Method = e.method; e.method == v1.BackupSnapshot {
		b.Spec.CopyToRegions = []string{backupenv.CopyRegion}
	}
	e.MustCreate(t, b)
	return client.ObjectKeyFromObject(b)
}

func (e *crashes) delete(t *testing.T, key client.ObjectKey, deletion v1.DeletionPolicy) {
	t.Helper()
	b := e.Backup(t, key.Name)
	b.Spec.Deletion = deletion
	if err := e.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := e.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func (e *crashes) complete(t *testing.T, key client.ObjectKey) bool {
	t.Helper()
	b := e.Backup(t, key.Name)
	if b.Status.Phase == v1.BackupFailed {
		t.Fatalf("the Backup failed: %s", b.Status.Message)
	}
	return b.Status.Phase == v1.BackupCompleted
}

func (e *crashes) gone(t *testing.T, key client.ObjectKey) bool {
	t.Helper()
	err := e.Get(t.Context(), key, &v1.Backup{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return apierrors.IsNotFound(err)
}

// stored checks in which regions there are snapshots of a Backup, visible or not.
func (e *crashes) stored(t *testing.T, key client.ObjectKey, want ...string) {
	t.Helper()
	var got []string
	for _, s := range e.snapshots(key) {
		got = append(got, s.Region)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("regions of the snapshots (-want +got):\n%s", diff)
	}
}

func (e *crashes) snapshots(key client.ObjectKey) []fake.Snapshot {
	return slices.DeleteFunc(e.Cloud.Snapshots(), func(s fake.Snapshot) bool { return s.Tags[cloud.TagBackup] != key.Name })
}

func (e *crashes) exists(t *testing.T, c *v1.CloudSnapshot) {
	t.Helper()
	if _, there := e.Cloud.Snapshot(c.ID); !there {
		t.Errorf("there is no snapshot %q in %s", c.ID, c.Region)
	}
}
