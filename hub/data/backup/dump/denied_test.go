package dump

import (
	"strings"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// denied checks that a retry succeeds after a policy of the member that denies Jobs is lifted.
func (e *testEnv) denied(t *testing.T) {
	e.reset(t)
	lift := e.DenyJobs(t, backupenv.Namespace)
	result := e.run(t)
	expectRejected(t, result)
	if !strings.Contains(result.Message, fleettest.Denial) || e.backup.Status.Dump != nil {
		t.Errorf("message %q, dump %+v", result.Message, e.backup.Status.Dump)
	}
	lift()
	if result := e.run(t); result.Reason != v1.ReasonDumping {
		t.Errorf("result %+v", result)
	}
}

// deniedToSend checks the same of the Job that sends, whose order was created before.
func (e *testEnv) deniedToSend(t *testing.T) {
	e.resetToSend(t)
	lift := e.DenyJobs(t, backupenv.Namespace)
	expectRejected(t, e.send(t))
	lift()
	e.Clock.Step(steps.Refused)
	if result := e.send(t); result.Reason != v1.ReasonSending || e.object().Attempt != 0 {
		t.Errorf("result %+v, object %+v", result, e.object())
	}
	e.job(t, sendJob)
}

func expectRejected(t *testing.T, result steps.Result) {
	t.Helper()
	if result.Reason != v1.ReasonApplyFailed || result.Fatal || result.Wait != 5*time.Minute {
		t.Errorf("result %+v, want %s and a retry after 5m", result, v1.ReasonApplyFailed)
	}
}
