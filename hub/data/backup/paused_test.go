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

// paused: during a pause nothing is asked of the cloud that changes something, and nothing fails for
// as long as it takes. After it, a Backup goes on where it was.
func (e *crashes) paused(t *testing.T) {
	for name, pause := range map[string]func(*testing.T, bool){
		"member":    e.pauseMember,
		"safe mode": func(_ *testing.T, on bool) { e.SafeMode = on },
	} {
		t.Run(name+", before it begins", func(t *testing.T) { e.pausedBefore(t, pause) })
		t.Run(name+", before it is copied", func(t *testing.T) { e.pausedBetween(t, pause) })
		t.Run(name+", before it is deleted", func(t *testing.T) { e.pausedDeletion(t, pause) })
	}
}

func (e *crashes) pauseMember(t *testing.T, on bool) {
	t.Helper()
	m := &v1.MemberCluster{}
	if err := e.Get(t.Context(), client.ObjectKey{Name: backupenv.Member}, m); err != nil {
		t.Fatal(err)
	}
	m.Spec.Paused = on
	if err := e.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// wait runs a hub until a check is true, and again after the longest time limit. It checks that it
// asks the cloud for no change.
func (e *crashes) wait(t *testing.T, key client.ObjectKey, waits func(*v1.Backup) bool) {
	t.Helper()
	for range 2 {
		p := e.NewProcess(backupenv.Crash{})
		p.Run(t, e.reconciler(p), key, func() bool { return waits(e.Backup(t, key.Name)) })
		for _, request := range []string{"CreateSnapshot", "CopySnapshot", "DeleteSnapshot"} {
			if n := backupenv.Count(p.Sent(), request); n > 0 {
				t.Errorf("%d %s while it is paused", n, request)
			}
		}
		e.Clock.Step(readyTimeout + time.Hour)
	}
}

// isPaused reports whether a Backup waits for the end of a pause.
func isPaused(b *v1.Backup) bool {
	return b.Status.Phase != v1.BackupFailed && readyOf(b).Status == metav1.ConditionFalse && readyOf(b).Reason == v1.ReasonPaused
}

// resume runs a hub until a Backup is complete.
func (e *crashes) resume(t *testing.T, key client.ObjectKey) {
	t.Helper()
	resumed := e.Clock.Now()
	e.finish(t, key, e.complete)
	e.stored(t, key, true)
	b := e.Backup(t, key.Name)
	if at := b.Status.ResumeTime; at == nil || at.Time.Before(resumed.Truncate(time.Second)) || b.Status.SnapshotTime == nil {
		t.Errorf("it went on at %v", at)
	}
}

func (e *crashes) pausedBefore(t *testing.T, pause func(*testing.T, bool)) {
	t.Helper()
	pause(t, true)
	key := e.create(t)
	e.wait(t, key, isPaused)
	if b := e.Backup(t, key.Name); b.Status.Phase != v1.BackupPending || b.Status.StartTime != nil {
		t.Errorf("it is %s, and began at %v", b.Status.Phase, b.Status.StartTime)
	}
	pause(t, false)
	e.resume(t, key)
}

func (e *crashes) pausedBetween(t *testing.T, pause func(*testing.T, bool)) {
	t.Helper()
	key := e.create(t)
	e.finish(t, key, func(t *testing.T, key client.ObjectKey) bool {
		t.Helper()
		s := e.Backup(t, key.Name).Status.Snapshots
		return len(s) > 0 && s[0].ID != ""
	})
	pause(t, true)
	e.wait(t, key, isPaused)
	if b := e.Backup(t, key.Name); b.Status.Phase != v1.BackupFinalizing {
		t.Errorf("it is %s", b.Status.Phase)
	}
	pause(t, false)
	e.resume(t, key)
}

func (e *crashes) pausedDeletion(t *testing.T, pause func(*testing.T, bool)) {
	t.Helper()
	key := e.create(t)
	e.finish(t, key, e.complete)
	pause(t, true)
	e.delete(t, key, v1.DeletionDelete)
	e.wait(t, key, func(b *v1.Backup) bool {
		return b.Status.Phase == v1.BackupDeleting && (strings.Contains(b.Status.Message, "paused") || strings.Contains(b.Status.Message, "safe mode"))
	})
	e.stored(t, key, true)
	pause(t, false)
	e.finish(t, key, e.gone)
	e.stored(t, key, false)
}
