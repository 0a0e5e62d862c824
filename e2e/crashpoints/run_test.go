package crashpoints_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

var (
	errEnd  = errors.New("not the end of the reference")
	errLeft = errors.New("something is left")
)

// run is one execution of a workload.
type run struct {
	*suite
	workload
	app *v1.EcommerceApp
}

// newRun brings the fleet into the state before the step, apart from what the application
// still has to become.
func (s *suite) newRun(t *testing.T, w workload) *run {
	t.Helper()
	s.runs++
	r := &run{suite: s, workload: w}
	if w.prepare != nil {
		w.prepare(t, s)
	}
	r.app = framework.Small(fmt.Sprintf("crash-%04d", s.runs), "shop", w.clusters...)
	r.app.Spec.Replicas = new(int32(2))
	if w.database {
		r.app.Spec.Database = newDatabase()
	}
	if w.rollout {
		r.app.Spec.Rollout = newRollout()
	}
	framework.CreateNamespace(t, s.Hub, r.app.Namespace)
	if w.created {
		s.Create(t, r.app)
	}
	return r
}

// start asks for what there is to be before the step.
func (r *run) start(t *testing.T) {
	t.Helper()
	if r.before != nil {
		r.awaitRunning(t)
		r.before(t, r.suite, r.app)
	}
}

// awaitReady blocks until all is as it is to be before the step.
func (r *run) awaitReady(t *testing.T) {
	t.Helper()
	r.awaitRunning(t)
	if r.ready != nil {
		fleettest.Eventually(t, r.name+" to be ready", func(ctx context.Context) error { return r.ready(ctx, r.suite, r.app) })
	}
}

func (r *run) awaitRunning(t *testing.T) {
	t.Helper()
	if !r.created {
		return
	}
	regions := []string{eu, us}
	if len(r.clusters) == 1 || r.name == "join" {
		regions = []string{eu}
	}
	r.AwaitRunning(t, r.app, regions...)
}

// subject returns what the run is about.
func (r *run) subject(t *testing.T) subject {
	t.Helper()
	return subject{namespace: r.app.Namespace, app: string(r.app.UID), owner: r.owner(t.Context()), fleetwide: r.fleetwide}
}

// converged returns nil when the hub has done what the step asks for.
func (r *run) converged(ctx context.Context) error {
	if r.done != nil {
		if err := r.done(ctx, r.suite, r.app); err != nil {
			return err
		}
	}
	if r.regions == nil {
		return nil
	}
	app := r.app.DeepCopy()
	if err := r.Hub.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
		return err
	}
	if err := framework.Runs(app, r.regions...); err != nil {
		return fmt.Errorf("%w; status is %s", err, framework.Brief(app))
	}
	return nil
}

// reference is an execution without a crash.
type reference struct {
	workload
	state   state
	history history
	// sites are the writes in their order.
	sites []point
}

// refer executes workloads at the same time, without a crash.
func (s *suite) refer(t *testing.T, all ...workload) []*reference {
	t.Helper()
	var runs []*run
	for _, w := range all {
		runs = append(runs, s.newRun(t, w))
	}
	for _, r := range runs {
		r.start(t)
	}
	var traps []*trap
	for _, r := range runs {
		r.awaitReady(t)
		traps = append(traps, newTrap(r.subject(t), point{}))
	}
	s.awaitQuiet(t, nil, runs...)
	m := s.Mark(t)
	s.hub.arm(traps...)
	for _, r := range runs {
		r.step(t, s, r.app)
	}
	for _, r := range runs {
		skip := r.skips(lostAfter)
		fleettest.Eventually(t, r.name+" to converge", func(ctx context.Context) error {
			skip()
			return r.converged(ctx)
		})
	}
	for range 3 { // All points are compared with what is read now. A machine that pauses is quiet, too.
		s.awaitQuiet(t, nil, runs...)
	}
	s.hub.arm()
	var found []*reference
	for i, r := range runs {
		end, err := r.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ref := &reference{workload: r.workload, state: end, history: r.history(t, m), sites: traps[i].writes()}
		for j := range ref.sites {
			ref.sites[j].workload = r.name
		}
		if len(ref.sites) == 0 {
			t.Fatalf("%s: the hub wrote nothing", r.name)
		}
		found = append(found, ref)
		s.leave(t, r)
	}
	return found
}

// awaitQuiet blocks until nothing was written about the runs for a while, apart from what matters leaves out; nil leaves
// out nothing. A slow machine may bring the last write of a status late, so that one pause proves nothing.
func (s *suite) awaitQuiet(t *testing.T, matters func(audit.Log) audit.Log, runs ...*run) {
	t.Helper()
	const attempts = 60
	var last audit.Log
	for range attempts {
		m := s.Mark(t)
		framework.Pause(t, quiet)
		last = nil
		for _, r := range runs {
			writes := r.writes(t, m)
			if matters != nil {
				writes = matters(writes)
			}
			last = append(last, writes...)
		}
		if len(last) == 0 {
			return
		}
	}
	t.Fatalf("the hub goes on writing:\n%s", last)
}

// test executes a workload in a subtest and kills the hub at a point of it.
func (s *suite) test(t *testing.T, ref *reference, p point, r *run) outcome {
	t.Helper()
	var found outcome
	t.Run(p.String(), func(t *testing.T) {
		defer func() {
			if t.Failed() {
				t.Logf("%s runs it again", replay(p.String()))
			}
		}()
		lap := s.sum.stopwatch()
		r.awaitReady(t)
		members := r.memberStatuses(t)
		m := s.Mark(t)
		lap("before")
		found.reached = r.crash(t, p)
		lap("until the crash")
		canary := s.editCanary(t)
		// First, since awaitEnd skips time that the new process must have begun to wait for.
		framework.Await(t, s.Hub, canary, "the new process to work", applied)
		r.awaitEnd(t, ref, &found.loss)
		lap("Lease, start and convergence")
		s.awaitQuiet(t, func(writes audit.Log) audit.Log { return r.withoutSums(maps.Clone(members), r.writes(t, m), writes) }, r)
		lap("quiet")
		if found.compareHistories(ref.history, r.history(t, m)); !found.none() {
			t.Errorf("not as in the reference: %+v", found.loss)
		}
	})
	s.hub.arm()
	s.leave(t, r)
	return found
}

// crash makes the step and blocks until the hub was killed at the point. It returns false if
// the hub did not write there; the hub is killed after the workload then.
func (r *run) crash(t *testing.T, p point) bool {
	t.Helper()
	armed := newTrap(r.subject(t), p)
	r.hub.arm(armed)
	r.step(t, r.suite, r.app)
	reached := true
	fleettest.Eventually(t, "the hub to be killed", func(ctx context.Context) error {
		select {
		case <-armed.sprung:
			return nil
		default:
		}
		if err := r.converged(ctx); err != nil {
			return err
		}
		reached = false
		return nil
	})
	if !reached { // What is committed may be read before the hub has the response.
		select {
		case <-armed.sprung:
			reached = true
		case <-time.After(quiet):
		}
	}
	r.hub.arm()
	if !reached {
		t.Log("The hub did not write there. It is killed after the workload.")
		r.hub.kill()
	}
	return reached
}

// awaitEnd blocks until the state is that of the reference, and leaves the difference in l.
func (r *run) awaitEnd(t *testing.T, ref *reference, l *loss) {
	t.Helper()
	skip := r.skips(skipAfter)
	fleettest.Eventually(t, "the end of the reference", func(ctx context.Context) error {
		skip()
		end, err := r.read(ctx)
		if err != nil {
			return err
		}
		*l = loss{}
		if l.compareStates(ref.state, end); !l.none() {
			return fmt.Errorf("%w: %+v\n%s", errEnd, *l, l.difference(ref.state, end))
		}
		return nil
	})
}

// applied returns nil when the hub has brought an application to its members.
func applied(app *v1.EcommerceApp) error {
	for _, c := range app.Status.Clusters {
		if c.AppliedGeneration != app.Generation {
			return fmt.Errorf("%w: %s", errEnd, framework.Brief(app))
		}
	}
	return framework.Observed(app)
}

// editCanary changes an application that no workload is about, and returns it.
func (s *suite) editCanary(t *testing.T) *v1.EcommerceApp {
	t.Helper()
	app := s.canary.DeepCopy()
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) {
		app.Spec.Replicas = new(1 + ptr.Deref(app.Spec.Replicas, 1)%2)
	})
	return app
}

// leave deletes the application of a run, without waiting for it. A member that has left gets
// its copy deleted only if it is back by then.
func (s *suite) leave(t *testing.T, r *run) {
	t.Helper()
	if r.fleetwide {
		s.ensureMember(t)
		s.AwaitRunning(t, r.app.DeepCopy(), eu, us)
	}
	r.leaveData(t)
	if err := client.IgnoreNotFound(s.Hub.Delete(t.Context(), r.app)); err != nil {
		t.Fatal(err)
	}
	s.left = append(s.left, r)
}

// awaitEmpty blocks until nothing is left of former runs.
func (s *suite) awaitEmpty(t *testing.T) {
	t.Helper()
	for _, r := range s.left {
		r.fleetwide = false
		fleettest.Eventually(t, "all to be gone in "+r.app.Namespace, func(ctx context.Context) error {
			found, err := r.read(ctx)
			if left := r.leftBehind(found); err == nil && len(left) > 0 {
				err = fmt.Errorf("%w of %s: %q", errLeft, r.name, left)
			}
			return err
		})
	}
	s.left = nil
}
