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

// denied: a policy of the member denies Jobs, and is lifted. A retry succeeds.
func (e *testEnv) denied(t *testing.T) {
	e.reset(t)
	lift := e.DenyJobs(t, backupenv.Namespace)
	v := e.run(t)
	expectRejected(t, v)
	if !strings.Contains(v.Message, fleettest.Denial) || e.backup.Status.Dump != nil {
		t.Errorf("message %q, dump %+v", v.Message, e.backup.Status.Dump)
	}
	lift()
	if v := e.run(t); v.Reason != v1.ReasonDumping {
		t.Errorf("result %+v", v)
	}
}

// deniedToSend: as denied, for the Job that sends. Its order was made before.
func (e *testEnv) deniedToSend(t *testing.T) {
	e.resetToSend(t)
	lift := e.DenyJobs(t, backupenv.Namespace)
	expectRejected(t, e.send(t))
	lift()
	e.Clock.Step(steps.Refused)
	if v := e.send(t); v.Reason != v1.ReasonSending || e.object().Attempt != 0 {
		t.Errorf("result %+v, object %+v", v, e.object())
	}
	e.job(t, sendJob)
}

func expectRejected(t *testing.T, v steps.Result) {
	t.Helper()
	if v.Reason != v1.ReasonApplyFailed || v.Fatal || v.Wait != 5*time.Minute {
		t.Errorf("result %+v, want %s and a retry after 5m", v, v1.ReasonApplyFailed)
	}
}
