package restore

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// TestAbandon checks that a Restore that waits too long fails, except while its application or member is paused: the
// limits begin again at the end of the pause.
func TestAbandon(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	waits := steps.RetryAfter(time.Minute, v1.ReasonStoppingApplication, "waiting")
	paused := steps.RetryAfter(time.Minute, v1.ReasonPaused, "paused")
	verify := func(w *work) { w.restore.Spec.Verify = true }
	for name, tt := range map[string]struct {
		change  func(*work)
		v       steps.Result
		age     time.Duration
		resumed time.Duration
		want    steps.Result
	}{
		"in time":                  {nil, waits, time.Hour, 0, waits},
		"shortly before its limit": {nil, waits, preparationLimit - 9*time.Second, 0, steps.RetryAfter(10*time.Second, v1.ReasonStoppingApplication, "waiting")},
		"at its limit":             {nil, waits, preparationLimit + time.Second, 0, steps.Fail(v1.ReasonStoppingApplication, "given up after 6h0m0s: waiting")},
		"paused at its limit":      {nil, paused, preparationLimit + time.Second, 0, paused},
		"paused before its limit":  {nil, paused, preparationLimit - 9*time.Second, 0, paused},
		"resumed":                  {nil, waits, 2 * preparationLimit, 2 * preparationLimit, waits},
		"resumed long ago":         {nil, waits, 3 * preparationLimit, preparationLimit, steps.Fail(v1.ReasonStoppingApplication, "given up after 6h0m0s: waiting")},
		"it is done":               {nil, steps.Result{}, 2 * preparationLimit, 0, steps.Result{}},
		"it has failed":            {nil, steps.Fail("X", "x"), 2 * preparationLimit, 0, steps.Fail("X", "x")},
		"between two attempts":     {(*work).started, waits, preparationLimit + time.Second, 0, waits},
		"verified too long":        {verify, waits, preparationLimit + time.Second, 0, steps.Fail(v1.ReasonVerificationFailed, "not verified within 6h0m0s: waiting")},
		"verification is paused":   {verify, paused, preparationLimit + time.Second, 0, paused},
		"verification is resumed":  {verify, waits, 2 * preparationLimit, 2 * preparationLimit, waits},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ofDump()
			if tt.change != nil {
				tt.change(w)
			}
			w.now, w.restore.Status.StartTime = began.Add(tt.age), v1.Seconds(began)
			if tt.resumed > 0 {
				w.restore.Status.ResumeTime = v1.Seconds(began.Add(tt.resumed))
			}
			if got := w.limited(tt.v); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestUndeliveredInAPause checks that a Job that a pause keeps from being created has no limit, and that its whole
// limit begins after the pause.
func TestUndeliveredInAPause(t *testing.T) {
	t.Parallel()
	broken := apierrors.NewInternalError(errors.New("failed calling webhook"))
	requested := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		err     error
		age     time.Duration
		resumed time.Duration
		fatal   bool
	}{
		"in time":          {broken, startLimit, 0, false},
		"too late":         {broken, startLimit + time.Second, 0, true},
		"paused":           {apierror.ErrPaused, startLimit + time.Second, 0, false},
		"resumed":          {broken, 2 * startLimit, 2 * startLimit, false},
		"resumed long ago": {broken, 3 * startLimit, startLimit, true},
	} {
		w := ofDump()
		w.now, w.restore.Status.Dump = requested.Add(tt.age), &v1.RestoredDump{RequestTime: v1.Seconds(requested)}
		if tt.resumed > 0 {
			w.restore.Status.ResumeTime = v1.Seconds(requested.Add(tt.resumed))
		}
		if got := w.shop().undelivered(tt.err); got.Fatal != tt.fatal {
			t.Errorf("%s: %+v, want fatal %t", name, got, tt.fatal)
		}
	}
}

// paused checks that a Restore under way whose application or member is paused writes nothing for as long as that
// takes, and goes on afterwards.
func (d *dumpTest) paused(t *testing.T) {
	app := func(paused bool) {
		backupenv.Change(t, d.Env, backupenv.Shop, func(a *v1.EcommerceApp) { a.Spec.Paused = paused })
	}
	member := func(paused bool) {
		backupenv.Change(t, d.Env, backupenv.Member, func(m *v1.MemberCluster) { m.Spec.Paused = paused })
	}
	t.Run("before it begins", func(t *testing.T) { d.pausedBeforeItBegins(t, app) })
	t.Run("application while its pods stop", func(t *testing.T) { d.pausedWhileStopping(t, app) })
	t.Run("member while its pods stop", func(t *testing.T) { d.pausedWhileStopping(t, member) })
	t.Run("member while a Job is created", func(t *testing.T) { d.pausedWhileDelivering(t, member) })
	t.Run("member while a Job starts", func(t *testing.T) { d.pausedWhileStarting(t, member) })
	t.Run("application while it loads", func(t *testing.T) { d.pausedWhileLoading(t, app) })
	t.Run("member while it is verified", func(t *testing.T) { d.pausedVerification(t, member) })
}

// pauseFor pauses the application or the member for twice the longest limit, and checks that the
// Restore waits for the end of the pause.
func (d *dumpTest) pauseFor(t *testing.T, pause func(bool)) {
	t.Helper()
	before, phase := d.changes(), d.restore(t).Status.Phase
	pause(true)
	for _, step := range []time.Duration{0, startLimit + time.Minute, 2 * loadLimit} {
		d.Clock.Step(step)
		d.passes(t, 2)
		if r := d.restore(t); d.ready(t).Reason != v1.ReasonPaused || done(r) || r.Status.Phase != phase {
			t.Fatalf("%s after the beginning: %+v", step, r.Status)
		}
	}
	sent := len(d.process.Sent())
	d.passes(t, 1)
	if more := d.process.Sent()[sent:]; len(more) > 0 {
		t.Errorf("a pass that changes nothing sent %v", more)
	}
	d.expectChanges(t, before...)
	pause(false)
}

// pausedBeforeItBegins checks that a pause before a Restore begins does not count.
func (d *dumpTest) pausedBeforeItBegins(t *testing.T, pause func(bool)) {
	t.Helper()
	d.reset(t)
	pause(true)
	d.passes(t, 1)
	d.pauseFor(t, pause)
	d.until(t, v1.ReasonLoading)
	if s := d.restore(t).Status; s.ResumeTime != nil {
		t.Errorf("it began at %s, and was resumed at %s", s.StartTime, s.ResumeTime)
	}
}

// pausedWhileStopping pauses while a pod still uses the database.
func (d *dumpTest) pausedWhileStopping(t *testing.T, pause func(bool)) {
	t.Helper()
	d.reset(t)
	d.createPod(t, "shop-backend-x", map[string]string{v1.ComponentLabel: "backend"})
	d.until(t, v1.ReasonStoppingApplication)
	d.pauseFor(t, pause)
	d.passes(t, 2)
	if ready := d.ready(t); ready.Reason != v1.ReasonStoppingApplication {
		t.Fatalf("after the pause: %+v", ready)
	}
	d.endPod(t, "shop-backend-x")
	d.until(t, v1.ReasonLoading)
	d.endLoad(t, 0)
	d.until(t, v1.ReasonCompleted)
	d.expectChanges(t, patchCopy, createJob, patchCopy, deleteJob)
	d.expectNothingLeft(t)
}

// pausedWhileDelivering pauses while the member does not accept the Job, which it does some time
// after the pause.
func (d *dumpTest) pausedWhileDelivering(t *testing.T, pause func(bool)) {
	t.Helper()
	d.reset(t)
	d.until(t, v1.ReasonStoppingApplication)
	d.process.Refuse(createJob, apierrors.NewInternalError(errors.New("failed calling webhook")))
	d.until(t, v1.ReasonApplyFailed)
	d.pauseFor(t, pause)
	d.passes(t, 2)
	if ready := d.ready(t); ready.Reason != v1.ReasonApplyFailed {
		t.Fatalf("after the pause: %+v", ready)
	}
	d.process.Refuse(createJob, nil)
	d.until(t, v1.ReasonLoading)
}

// pausedWhileStarting pauses while the Job waits for a node.
func (d *dumpTest) pausedWhileStarting(t *testing.T, pause func(bool)) {
	t.Helper()
	d.reset(t)
	d.until(t, v1.ReasonLoading)
	d.HoldJob(t, "ImagePullBackOff")
	d.pauseFor(t, pause)
	d.passes(t, 2)
	if ready := d.ready(t); ready.Reason != v1.ReasonLoading || !strings.Contains(ready.Message, "ImagePullBackOff") {
		t.Fatalf("after the pause: %+v", ready)
	}
	d.Clock.Step(startLimit + time.Second)
	d.passes(t, 1)
	if ready := d.ready(t); ready.Reason != v1.ReasonLoadFailed {
		t.Errorf("too long after the pause: %+v", ready)
	}
}

// pausedWhileLoading checks that a Job that ends during a pause is evaluated afterwards.
func (d *dumpTest) pausedWhileLoading(t *testing.T, pause func(bool)) {
	t.Helper()
	d.reset(t)
	d.until(t, v1.ReasonLoading)
	pause(true)
	d.passes(t, 1)
	d.endLoad(t, 0)
	d.pauseFor(t, pause)
	d.until(t, v1.ReasonCompleted)
	d.expectNothingLeft(t)
}

// pausedVerification pauses while the dump is verified.
func (d *dumpTest) pausedVerification(t *testing.T, pause func(bool)) {
	t.Helper()
	d.reset(t, sentDump)
	d.createRestore(t, func(s *v1.RestoreSpec) { s.Verify = true })
	d.until(t, v1.ReasonLoading)
	d.pauseFor(t, pause)
	if resumed := d.restore(t).Status.ResumeTime; resumed != nil {
		t.Errorf("resumed at %s during the pause", resumed)
	}
	d.passes(t, 1)
	s := d.restore(t).Status
	if s.Phase != v1.RestoreInProgress || !s.ResumeTime.Equal(&metav1.Time{Time: d.Clock.Now().Truncate(time.Second)}) {
		t.Fatalf("after the pause: %+v", s)
	}
	d.end(t, jobs.ImportContainer, 0)
	d.process.Run(t, NewReconciler(d.process.Client, d.options), d.key, func() bool { return done(d.restore(t)) })
	if s := d.restore(t).Status; s.Phase != v1.RestoreCompleted {
		t.Errorf("in the end: %+v", s)
	}
}
