package backup

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
)

// lockedBackup returns a Backup of the first of March, which was deleted at a time and has a lock of 7 days.
func lockedBackup(t *testing.T, deleted string) *v1.Backup {
	t.Helper()
	at, err := time.Parse(time.RFC3339, deleted)
	if err != nil {
		t.Fatal(err)
	}
	b := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "b", DeletionTimestamp: &metav1.Time{Time: at}}}
	b.Status.SnapshotTime = &metav1.Time{Time: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	b.Status.Retention, b.Status.DeleteLockDays = &v1.Retention{KeepDays: new(int32(10))}, 7
	b.Status.Snapshots = []v1.VolumeSnapshot{{CloudSnapshot: v1.CloudSnapshot{State: v1.SnapshotMissing}, Copies: []v1.CloudSnapshot{{ID: "snap-1"}}}}
	return b
}

func TestLockEnd(t *testing.T) {
	t.Parallel()
	expired := func(b *v1.Backup) { b.Status.Expired = true }
	failed := func(b *v1.Backup) {
		expired(b)
		b.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse}}
	}
	asIf := func(b *v1.Backup) { b.Annotations = map[string]string{v1.PrunedAnnotation: "true"} }
	for name, tt := range map[string]struct {
		deleted string
		change  func(*v1.Backup)
		want    string
	}{
		"deleted by a user":          {"2026-03-05T12:00:00Z", nil, "2026-03-12T12:00:00Z"},
		"an old one, by a user":      {"2026-06-05T12:00:00Z", nil, "2026-06-12T12:00:00Z"},
		"in another time zone":       {"2026-03-05T14:00:00+02:00", nil, "2026-03-12T12:00:00Z"},
		"by retention":               {"2026-03-11T00:00:01Z", expired, ""},
		"as if by retention":         {"2026-06-05T12:00:00Z", asIf, "2026-06-12T12:00:00Z"},
		"by retention, too early":    {"2026-03-11T00:00:00Z", expired, "2026-03-18T00:00:00Z"},
		"a failed one, by retention": {"2026-03-09T00:00:00Z", failed, ""},
		"by retention, not recorded": {"2026-06-05T12:00:00Z", func(b *v1.Backup) { expired(b); b.Status.Retention = nil }, "2026-06-12T12:00:00Z"},
		"lost in the cloud":          {"2026-03-05T12:00:00Z", func(b *v1.Backup) { b.Status.Snapshots[0].Copies = nil }, ""},
		"a dump":                     {"2026-03-05T12:00:00Z", func(b *v1.Backup) { b.Status.Snapshots, b.Status.Dump = nil, &v1.DumpFile{Object: &v1.DumpObject{}} }, "2026-03-12T12:00:00Z"},
		"no lock":                    {"2026-03-05T12:00:00Z", func(b *v1.Backup) { b.Status.DeleteLockDays = 0 }, ""},
		"nothing was backed up":      {"2026-03-05T12:00:00Z", func(b *v1.Backup) { b.Status.SnapshotTime = nil }, ""},
		"not deleted":                {"2026-03-05T12:00:00Z", func(b *v1.Backup) { b.DeletionTimestamp = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, got := lockedBackup(t, tt.deleted), ""
			if tt.change != nil {
				tt.change(b)
			}
			if end := lockEnd(b); !end.IsZero() {
				got = end.Format(time.RFC3339)
			}
			if got != tt.want {
				t.Errorf("it ends %q, want %q", got, tt.want)
			}
		})
	}
}

// TestUnderLock checks that neither a clock that is ahead nor one that is not known ends a lock.
func TestUnderLock(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		left, ahead time.Duration
		unknown     bool
		waits       bool
		wait        time.Duration
	}{
		"under it":                    {left: 3 * time.Minute, waits: true, wait: 3 * time.Minute},
		"for long":                    {left: 50 * time.Hour, waits: true, wait: time.Hour},
		"over":                        {},
		"the hub's clock is ahead":    {ahead: -time.Minute, waits: true, wait: time.Minute},
		"the provider's is":           {left: time.Minute, ahead: time.Hour, waits: true, wait: time.Minute},
		"over by both":                {left: -time.Minute, ahead: -time.Minute},
		"the provider's is not known": {left: -time.Hour, unknown: true, waits: true, wait: 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(nil, nil)
			w.backup = lockedBackup(t, "2026-03-05T12:00:00Z")
			w.options.Skew = func(string) (time.Duration, bool) { return tt.ahead, !tt.unknown }
			w.now = lockEnd(w.backup).Add(-tt.left)
			if got := w.underLock(); got.Stops() != tt.waits || got.Wait != tt.wait {
				t.Errorf("got %+v, want it to wait %t, %s", got, tt.waits, tt.wait)
			}
		})
	}
}

// locked checks that the data of a Backup that a user deletes stays until its lock has ended, and for good if the user
// wants it back meanwhile.
func (c *crashes) locked(t *testing.T) {
	c.setLock(t, 7)
	defer c.setLock(t, 0)
	under := func(b *v1.Backup) bool {
		return b.Status.Phase == v1.BackupDeleting && strings.HasPrefix(b.Status.Message, "locked: ")
	}
	for name, kept := range map[string]bool{"to the end": false, "wanted back": true} {
		t.Run(name, func(t *testing.T) {
			key := c.create(t)
			c.finish(t, key, c.complete)
			c.delete(t, key, v1.DeletionDelete)
			c.wait(t, key, under)
			c.stored(t, key, true)
			if kept {
				b := c.Backup(t, key.Name)
				b.Spec.Deletion = v1.DeletionRetain
				if err := c.Update(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			} else {
				const lock = 7 * 24 * time.Hour
				c.Clock.Step(lock)
				c.passed = lock
			}
			c.finish(t, key, c.gone)
			c.stored(t, key, kept)
			c.passed = 0
		})
	}
}

// setLock sets the lock of the shop's backups.
func (c *crashes) setLock(t *testing.T, days int32) {
	t.Helper()
	app := &v1.EcommerceApp{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: backupenv.Namespace, Name: backupenv.Shop}, app); err != nil {
		t.Fatal(err)
	}
	app.Spec.Database.Backup.DeleteLockDays = days
	if err := c.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
}
