package backup_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
)

// TestConnectionWakes checks that a Backup whose member is not connected goes on when it is, long before the next
// attempt that needs no event.
func TestConnectionWakes(t *testing.T) {
	e := newTestenv(t)
	e.createShop(t)
	e.away.Store(true)
	b := apitest.Backup("waiting").Namespace(backupenv.Namespace).Obj()
	e.MustCreate(t, b)
	await := func(phase v1.BackupPhase, message string) {
		t.Helper()
		e.eventually(t, fmt.Sprintf("the backup to be %s", phase), func(ctx context.Context) error {
			if err := e.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
				return err
			}
			if b.Status.Phase != phase || b.Status.Message != message {
				return fmt.Errorf("it is %s: %s", b.Status.Phase, b.Status.Message)
			}
			return nil
		})
	}
	await(v1.BackupPending, "eu-1 is not connected")
	e.away.Store(false)
	e.changes.Notify()
	await(v1.BackupCompleted, "The backup can be restored")
}
