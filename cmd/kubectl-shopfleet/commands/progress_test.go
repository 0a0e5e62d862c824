package commands

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

func TestAwaiting(t *testing.T) {
	backup := func(name string, phase v1.BackupPhase, message string) client.Object {
		return &v1.Backup{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.BackupStatus{Phase: phase, Message: message}}
	}
	a := awaiting{resource: "backup", namespace: "production", names: []string{"a", "b"}, progress: backupProgress}
	last := map[string]progress{}

	lines := a.update(last, []client.Object{backup("a", v1.BackupFailed, "no quota"), backup("b", v1.BackupInProgress, ""), backup("other", "", "")})
	if diff := cmp.Diff([]string{"a: Failed: no quota", "b: InProgress"}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if done, err := a.result(last); done || err != nil {
		t.Errorf("%v, %v while one is running, want to go on", done, err)
	}

	lines = a.update(last, []client.Object{backup("a", v1.BackupFailed, "no quota"), backup("b", v1.BackupCompleted, "")})
	if diff := cmp.Diff([]string{"b: Completed"}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	_, err := a.result(last)
	if !errors.Is(err, errFailed) || err.Error() != "backup a: failed: no quota" {
		t.Errorf("%v, want an error that names the object", err)
	}
	// What can be restored only where it is, is not all that was asked for.
	lines = a.update(last, []client.Object{backup("a", v1.BackupPartiallyCompleted, "no copy"), backup("b", v1.BackupCompleted, "")})
	if _, err := a.result(last); len(lines) != 1 || !errors.Is(err, errFailed) || !strings.Contains(err.Error(), "no copy") {
		t.Errorf("%q, %v: want an error with the reason", lines, err)
	}
	if want := "kubectl describe backup a -n production"; !strings.Contains(hint.For(err), want) {
		t.Errorf("hint %q, want %q in it", hint.For(err), want)
	}
}
