package members

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/conditions"
	"github.com/shopfleet/shopfleet/hub/members/connection"
)

// finish does what the result of a task asks for.
func (l *loop) finish(ctx context.Context, r result) {
	if l.running[r.task] != r.job {
		l.discard(r.connected) // Cancelled in the meantime: it is about something else.
		return
	}
	l.running[r.task] = nil
	switch r.task {
	case taskConnect:
		if r.failure != nil {
			l.failed(r.failure)
			return
		}
		l.adopt(r.connected)
	case taskProbe:
		l.probed(ctx, r)
	case taskInspect:
		l.inspectedAgain(r)
	case taskListen:
		l.listened(r)
	case taskNodes:
		// Reads the cache alone and never runs beside the loop.
	}
}

// failed takes note of an attempt that led nowhere and schedules the next.
func (l *loop) failed(f *conditions.Failure) {
	if l.failures == 0 {
		l.failedSince = l.now()
	}
	l.failures++
	l.failure = f
	l.state.Settled = l.state.Settled || l.conclusive(f)
	l.schedule(taskConnect, l.backoff.Step())
}

// conclusive tells whether a failure may be told to the world: anything that the
// cluster said, and silence once it has lasted as long as it takes to lose a member.
func (l *loop) conclusive(f *conditions.Failure) bool {
	health := l.target.Health
	return f.Reason != v1.ReasonProbeFailed ||
		l.failures >= health.FailureThreshold &&
			l.now().Sub(l.failedSince) >= time.Duration(health.FailureThreshold-1)*health.Period
}

// adopt swaps to a new session and engages it.
func (l *loop) adopt(c *connection.Connected) {
	swapped := l.connection != nil
	l.disengage()
	l.connection = c.Session
	l.group.Go(func() { <-c.Session.Ended() })
	l.provide(c.Session.Cluster, c.Session.Mode)
	if err := c.Session.Engage(l.aware, l.name); err != nil {
		l.log.Error(err, "Engaging member failed")
		l.lose(&conditions.Failure{Step: conditions.StepSetup, Reason: v1.ReasonSetupFailed, Message: "the hub's reconcilers could not be started for the cluster"})
		return
	}
	l.log.Info("Member connected", "swapped", swapped, "mode", c.Session.Mode, "nodes", c.Nodes.Nodes, "version", c.Server.Version)
	l.wasEngaged = true
	l.failure = nil
	l.misses, l.failures = 0, 0
	l.backoff = newBackoff()
	l.inspected = c.Inspection
	l.lease = c.Lease
	l.hear()
	l.state.LastProbe = l.now()
	l.state.Info.UID = c.UID
	l.state.Info.CredentialsExpireAt = c.Session.Access.ExpiresAt
	l.state.setNodes(c.Nodes)
	l.schedule(taskProbe, wait.Jitter(l.target.Health.Period, spread))
	l.scheduleInspection()
	if c.Session.Mode == v1.ModeAgent {
		l.schedule(taskListen, listenSoon)
	}
}

// listened takes note of a look at the agent. No answer says nothing: losing a member
// is the probes' matter.
func (l *loop) listened(r result) {
	if r.err == nil {
		l.lease = l.lease.After(r.sample, l.now())
		l.hear()
	}
	period := l.target.Health.Period
	if l.lease.Beat == conditions.BeatUnknown {
		period = min(period, listenSoon)
	}
	l.due[taskListen] = r.started.Add(wait.Jitter(period, spread))
}

// hear says what is known of the agent. Until something is, a status from before the
// start is better than none.
func (l *loop) hear() {
	l.state.AgentHeard = l.lease.Heard
	if l.connection.Mode != v1.ModeAgent || l.lease.Beat != conditions.BeatUnknown {
		l.state.Settled = true
	}
}

func (l *loop) scheduleInspection() {
	period := inspectPeriod
	definitions := &l.inspected.Definitions
	if len(l.inspected.Missing)+len(definitions.Deleting)+len(definitions.Outdated) > 0 {
		period = inspectSoon
	}
	l.schedule(taskInspect, wait.Jitter(period, spread))
}

// hastenInspection has a member inspected that no longer serves a kind. One that is
// being inspected is left alone: as long as it is so, the informer says it again.
func (l *loop) hastenInspection() {
	if l.connection != nil && l.running[taskInspect] == nil && l.due[taskInspect].After(l.now().Add(inspectNow)) {
		l.schedule(taskInspect, inspectNow)
	}
}

// probed counts probes. The next one begins a period after this one began.
func (l *loop) probed(ctx context.Context, r result) {
	l.due[taskProbe] = r.started.Add(wait.Jitter(l.target.Health.Period, spread))
	if r.err != nil {
		l.misses++
		l.log.V(1).Info("Probe failed", "misses", l.misses, "error", r.err.Error())
		if l.misses >= l.target.Health.FailureThreshold {
			l.lose(l.connection.Explain(r.err, l.now()))
		}
		return
	}
	l.misses = 0
	l.state.LastProbe = l.now()
	if f := l.fleet.claims.Admit(ctx, l.name, r.uid); f != nil {
		l.lose(f)
	}
}

// inspectedAgain takes note of what the cluster allows and offers now. No answer
// says nothing: losing a member is the probes' matter.
func (l *loop) inspectedAgain(r result) {
	if r.err == nil {
		l.inspected = *r.found
	}
	if l.inspected.Blocked() {
		l.lose(conditions.PermissionsMissing(l.inspected.Missing))
		return
	}
	if gone := l.inspected.Definitions.Absent; len(gone) > 0 {
		// Connecting anew installs them, and gives nobody's backoff a part in it: the
		// informers list at once, and everything that runs there is looked at.
		l.lose(conditions.DefinitionsMissing(l.connection.Mode, gone))
		return
	}
	l.scheduleInspection()
}

// countNodes reads the nodes from the cache, which asks no network.
func (l *loop) countNodes(ctx context.Context) {
	if l.connection == nil {
		return
	}
	nodes, err := l.connection.Nodes(ctx)
	if err != nil {
		l.log.Error(err, "Counting nodes failed")
		return
	}
	l.state.setNodes(nodes)
}

// lose ends the session and begins to connect anew.
func (l *loop) lose(f *conditions.Failure) {
	l.log.Info("Member lost", "reason", f.Reason, "message", f.Message)
	l.disengage()
	l.state.Settled = true
	if l.access == nil && l.failure != nil {
		return // The kubeconfig was refused already, and only another one helps.
	}
	l.failure = f
	if l.running[taskConnect] == nil {
		l.schedule(taskConnect, l.backoff.Step())
	}
}

// disengage ends the session, if there is one. What it leaves behind ends by itself,
// and the goroutine of the member waits for it at its own end.
func (l *loop) disengage() {
	l.stop(taskProbe)
	l.stop(taskInspect)
	l.stop(taskNodes)
	l.stop(taskListen)
	if l.connection == nil {
		return
	}
	l.provide(nil, "")
	l.connection.Close()
	l.connection = nil
	l.misses = 0
}

// publish says how the member is now.
func (l *loop) publish() {
	l.state.Engaged = l.connection != nil
	if l.connection != nil {
		l.state.Info.Version = l.inspected.Server.Version
		l.state.Info.Capabilities = l.inspected.Server.Capabilities
	}
	picture := conditions.Observation{
		Engaged: l.state.Engaged, Missing: l.inspected.Missing,
		Deleting: l.inspected.Definitions.Deleting, Outdated: l.inspected.Definitions.Outdated,
		Wanted: l.target.Mode, Lease: l.lease, Failure: l.failure,
	}
	if l.connection != nil {
		picture.Mode = l.connection.Mode
	}
	l.state.Conditions = conditions.Compute(l.state.Conditions, picture)
	if l.report(l.state) {
		l.fleet.notify(l.name)
	}
}
