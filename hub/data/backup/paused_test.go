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

// paused checks that a paused Backup sends no request that changes the cloud and does not fail, and continues after
// the pause.
func (c *crashes) paused(t *testing.T) {
	for name, pause := range map[string]func(*testing.T, bool){
		"member":    c.pauseMember,
		"safe mode": func(_ *testing.T, on bool) { c.SafeMode = on },
	} {
		t.Run(name+", before it begins", func(t *testing.T) { c.pausedBefore(t, pause) })
		t.Run(name+", before it is copied", func(t *testing.T) { c.pausedBetween(t, pause) })
		t.Run(name+", before it is deleted", func(t *testing.T) { c.pausedDeletion(t, pause) })
	}
}

func (c *crashes) pauseMember(t *testing.T, on bool) {
	t.Helper()
	m := &v1.MemberCluster{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: backupenv.Member}, m); err != nil {
		t.Fatal(err)
	}
	m.Spec.Paused = on
	if err := c.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// wait runs a hub until a check is true, and again after the longest time limit. It checks that it
// asks the cloud for no change.
func (c *crashes) wait(t *testing.T, key client.ObjectKey, waits func(*v1.Backup) bool) {
	t.Helper()
	for range 2 {
		p := c.NewProcess(t, backupenv.Crash{})
		p.Run(t, c.reconciler(p), key, func() bool { return waits(c.Backup(t, key.Name)) })
		for _, request := range []string{"CreateSnapshot", "CopySnapshot", "DeleteSnapshot"} {
			if n := backupenv.Count(p.Sent(), request); n > 0 {
				t.Errorf("%d %s while it is paused", n, request)
			}
		}
		c.Clock.Step(readyTimeout + time.Hour)
	}
}

// isPaused reports whether a Backup waits for the end of a pause.
func isPaused(b *v1.Backup) bool {
	return b.Status.Phase != v1.BackupFailed && readyOf(b).Status == metav1.ConditionFalse && readyOf(b).Reason == v1.ReasonPaused
}

// resume runs a hub until a Backup is complete.
func (c *crashes) resume(t *testing.T, key client.ObjectKey) {
	t.Helper()
	resumed := c.Clock.Now()
	c.finish(t, key, c.complete)
	c.stored(t, key, true)
	b := c.Backup(t, key.Name)
	if at := b.Status.ResumeTime; at == nil || at.Time.Before(resumed.Truncate(time.Second)) || b.Status.SnapshotTime == nil {
		t.Errorf("it went on at %v", at)
	}
}

func (c *crashes) pausedBefore(t *testing.T, pause func(*testing.T, bool)) {
	t.Helper()
	pause(t, true)
	key := c.create(t)
	c.wait(t, key, isPaused)
	if b := c.Backup(t, key.Name); b.Status.Phase != v1.BackupPending || b.Status.StartTime != nil {
		t.Errorf("it is %s, and began at %v", b.Status.Phase, b.Status.StartTime)
	}
	pause(t, false)
	c.resume(t, key)
}

func (c *crashes) pausedBetween(t *testing.T, pause func(*testing.T, bool)) {
	t.Helper()
	key := c.create(t)
	c.finish(t, key, func(t *testing.T, key client.ObjectKey) bool {
		t.Helper()
		s := c.Backup(t, key.Name).Status.Snapshots
		return len(s) > 0 && s[0].ID != ""
	})
	pause(t, true)
	c.wait(t, key, isPaused)
	if b := c.Backup(t, key.Name); b.Status.Phase != v1.BackupFinalizing {
		t.Errorf("it is %s", b.Status.Phase)
	}
	pause(t, false)
	c.resume(t, key)
}

func (c *crashes) pausedDeletion(t *testing.T, pause func(*testing.T, bool)) {
	t.Helper()
	key := c.create(t)
	c.finish(t, key, c.complete)
	pause(t, true)
	c.delete(t, key, v1.DeletionDelete)
	c.wait(t, key, func(b *v1.Backup) bool {
		return b.Status.Phase == v1.BackupDeleting && (strings.Contains(b.Status.Message, "paused") || strings.Contains(b.Status.Message, "safe mode"))
	})
	c.stored(t, key, true)
	pause(t, false)
	c.finish(t, key, c.gone)
	c.stored(t, key, false)
}
