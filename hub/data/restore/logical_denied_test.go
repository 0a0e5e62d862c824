package restore

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

// expectRejected checks that the Restore waits for the member to accept its Job, and that
// one event says so.
func (d *dumpTest) expectRejected(t *testing.T) {
	t.Helper()
	d.passes(t, 2)
	if r := d.restore(t); d.ready(t).Reason != v1.ReasonApplyFailed || done(r) || r.Status.Phase == v1.RestoreCleaningUp {
		t.Errorf("status %+v", r.Status)
	}
	if n := len(d.recorder.Events); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

// denied checks that nothing is stopped while a policy of the member denies the Job. A Restore ends at its limit, or
// goes on once the policy is lifted.
func (d *dumpTest) denied(t *testing.T) {
	d.reset(t, elsewhere)
	lift := d.DenyJobs(t, backupenv.Namespace)
	d.expectRejected(t)
	d.expectChanges(t)
	d.Clock.Step(preparationLimit)
	d.until(t, v1.ReasonApplyFailed)
	d.passes(t, 3)
	if s := d.restore(t).Status; s.Phase != v1.RestoreFailed || !strings.HasPrefix(s.Message, "given up after 6h0m0s: eu-1 rejects the Job") {
		t.Errorf("at the limit: %s: %s", s.Phase, s.Message)
	}
	d.expectChanges(t)
	d.createRestore(t, func(*v1.RestoreSpec) {})
	d.passes(t, 1)
	lift()
	d.Clock.Step(steps.Refused)
	d.until(t, v1.ReasonLoading)
	d.expectChanges(t, patchCopy, createClaim, createJob)
}

// deniedWhileStopped checks that a policy that comes after the application was stopped fails the Restore, which
// starts it again.
func (d *dumpTest) deniedWhileStopped(t *testing.T) {
	d.reset(t)
	d.until(t, v1.ReasonStoppingApplication)
	d.DenyJobs(t, backupenv.Namespace)
	d.process.Run(t, NewReconciler(d.process.Client, d.options), d.key, func() bool { return done(d.restore(t)) })
	if ready := d.ready(t); ready.Reason != v1.ReasonApplyFailed {
		t.Errorf("%+v", ready)
	}
	d.expectNothingLeft(t)
}

// deniedVerification checks that nothing is stopped for a verification, which waits for the policy to be lifted.
func (d *dumpTest) deniedVerification(t *testing.T) {
	d.reset(t, sentDump)
	lift := d.DenyJobs(t, VerificationNamespace)
	d.createRestore(t, func(s *v1.RestoreSpec) { s.Verify = true })
	d.until(t, v1.ReasonApplyFailed)
	d.expectRejected(t)
	lift()
	d.until(t, v1.ReasonLoading)
	job := client.ObjectKey{Namespace: VerificationNamespace, Name: d.restore(t).Status.Dump.Job}
	if err := d.Get(t.Context(), job, &batchv1.Job{}); err != nil {
		t.Error(err)
	}
	d.end(t, jobs.ImportContainer, 0)
	d.process.Run(t, NewReconciler(d.process.Client, d.options), d.key, func() bool { return done(d.restore(t)) })
	d.expectNothingVerified(t)
}
