package members

import (
	"context"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/connect"
	membershealth "github.com/shopfleet/shopfleet/hub/members/health"
)

// finish handles the result of a task.
func (l *loop) finish(ctx context.Context, r result) {
	if l.running[r.task] != r.job {
		l.discard(r.connected) // The task was cancelled and its result is outdated.
		return
	}
	l.running[r.task] = nil
	switch r.task {
	case taskConnect:
		if r.failure != nil {
			l.failed(r)
			return
		}
		l.use(r)
	case taskProbe:
		l.probed(ctx, r)
	case taskInspect:
		l.inspectedAgain(r)
	case taskListen:
		l.listened(r)
	case taskRenew:
		l.renewalEnded(r)
	case taskPods:
		l.podsListed(r)
	case taskNodes:
		// Reads the cache only, so that it runs within the loop.
	}
}

// discard closes a connection that is no longer needed. The goroutine of the member waits
// for its end before it ends itself.
func (l *loop) discard(c *connect.Connected) {
	if c != nil {
		c.Connection.Close()
		l.group.Go(func() { <-c.Connection.Ended() })
	}
}

// failed records a failed attempt to connect and schedules the next one.
func (l *loop) failed(r result) {
	f := r.failure
	if l.failures == 0 {
		l.failedSince = l.now()
	}
	l.failures++
	l.failure = l.credentials().Rejected(f)
	l.state.Known = l.state.Known || l.conclusive(f)
	l.schedule(taskConnect, l.retryDelay(r))
}

// retryDelay returns the time until the next attempt to connect. While a member does not answer, it
// is probed as often as if it were connected, and the time that the last attempt waited for an answer
// counts: the answer to a request that waits is the first sign that the member is back.
func (l *loop) retryDelay(r result) time.Duration {
	if r.answered {
		if l.silent { // What fails just after the first answer, as while an API server starts, passes soon.
			l.backoff = l.fleet.newBackoff()
		}
		l.silent = false
		return l.backoff.Step()
	}
	l.silent = true
	delay := l.backoff.Step()
	if r.failure.Reason == v1.ReasonProbeFailed {
		delay = min(delay, wait.Jitter(l.target.Health.Period, retryJitter)) - l.now().Sub(r.started)
	}
	return max(delay, 0)
}

// conclusive reports whether a failure may be published: immediately if the cluster
// returned an error; after as many attempts and as much time as it takes to lose a member
// if it did not answer.
func (l *loop) conclusive(f *membershealth.Failure) bool {
	health := l.target.Health
	return f.Reason != v1.ReasonProbeFailed ||
		l.failures >= health.FailureThreshold &&
			l.now().Sub(l.failedSince) >= time.Duration(health.FailureThreshold-1)*health.Period
}

// use engages a new connection and then ends the current one. If the new one cannot be
// engaged, the current one stays in use. For a moment both are engaged under one name: reconcilers
// use the new one from then on, and their workers start on it when those of the old one have ended.
func (l *loop) use(r result) {
	former, c := l.connection, r.connected
	l.provide(c.Connection) // Reconcilers read the mode when they are engaged.
	if err := c.Connection.Engage(l.aware, l.name); err != nil {
		l.log.Error(err, "Engaging member failed")
		l.provide(former)
		l.discard(c)
		r.failure = &membershealth.Failure{Step: membershealth.StepSetup, Reason: v1.ReasonSetupFailed, Message: "the hub's reconcilers could not be started for the cluster"}
		l.failed(r)
		return
	}
	l.end(former)
	l.connection = c.Connection
	l.group.Go(func() { <-c.Connection.Ended() })
	swapped := former != nil
	l.log.Info("Member connected", "swapped", swapped, "mode", c.Connection.Mode, "nodes", c.Nodes.Nodes, "version", c.Server.Version)
	l.wasEngaged = true
	l.failure = nil
	l.misses, l.failures, l.silent = 0, 0, false
	l.backoff = l.fleet.newBackoff()
	l.inspected, l.inspectedFingerprint = c.Inspection, c.Connection.Access.Fingerprint
	l.lease = c.Lease
	l.recordLease()
	l.state.LastProbe = l.now()
	l.state.Info.UID = c.UID
	l.state.Info.CredentialsExpireAt = c.Connection.Access.ExpiresAt
	l.state.setNodes(c.Nodes)
	l.schedule(taskProbe, wait.Jitter(l.target.Health.Period, spread))
	l.scheduleFirstInspection()
	l.schedulePods()
	l.withdrawOffer()
	if c.Connection.Mode == v1.ModeAgent {
		l.schedule(taskListen, listenSoon)
	}
}

// listened records a read of the agent's Lease. A failed read is ignored: only probes decide that a
// member is lost. The agent is alive if the Lease changes between two reads: its timestamps are not
// compared with the hub's clock, which may be off. A watch would cost a connection, and an event
// every two seconds.
func (l *loop) listened(r result) {
	if r.err == nil {
		l.lease = l.lease.After(r.sample, l.now(), l.fleet.settings.Timeouts.AgentSilence)
		l.recordLease()
	}
	period := l.target.Health.Period
	if l.lease.State == membershealth.LeaseUnknown {
		period = min(period, listenSoon)
	}
	l.due[taskListen] = r.started.Add(wait.Jitter(period, spread))
}

// recordLease publishes the state of the agent. While that is unknown, the status from before
// the hub started is kept.
func (l *loop) recordLease() {
	l.state.AgentLastSeen = l.lease.LastRenewal
	if l.connection.Mode != v1.ModeAgent || l.lease.State != membershealth.LeaseUnknown {
		l.state.Known = true
	}
}

// scheduleFirstInspection schedules the inspection after a connection. Admission policies that were installed just before it
// are in force a moment later. Later inspections keep their period.
func (l *loop) scheduleFirstInspection() {
	l.scheduleInspection()
	if restricted := l.inspected.Restricted; restricted != nil && !*restricted {
		l.schedule(taskInspect, wait.Jitter(min(inspectSoon, l.fleet.periods.Inspect), spread))
	}
}

func (l *loop) scheduleInspection() {
	period := inspectFactor * l.fleet.periods.Inspect
	definitions := &l.inspected.Definitions
	if len(l.inspected.Missing)+len(definitions.Deleting)+len(definitions.Outdated) > 0 {
		period = l.fleet.periods.Inspect
	}
	l.schedule(taskInspect, wait.Jitter(period, spread))
}

// hastenInspection schedules an inspection of a member that no longer serves a kind, which its
// informers learn from responses with 404: a watch on definitions would cost one more for each
// member. A definition whose deletion is blocked by its objects is still served, and noticed by the
// next regular inspection. It does nothing while an inspection is running: the informer reports the
// kind again if it is still missing. Neither does it hasten the repetition of a failed one, or one
// short outage would fail several.
func (l *loop) hastenInspection() {
	if l.connection != nil && l.failedInspections == 0 && l.running[taskInspect] == nil && l.due[taskInspect].After(l.now().Add(inspectNow)) {
		l.schedule(taskInspect, inspectNow)
	}
}

// probed records the result of a probe. A cluster that answers is lost if another one is
// expected, or if its lists and watches are refused. The next probe starts one period after the
// start of this one.
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
	f := l.fleet.claims.Admit(ctx, l.name, r.uid)
	if f == nil {
		f = l.connection.Unwatched()
	}
	if f != nil {
		l.lose(f)
	}
}

// inspectedAgain records the result of an inspection. One that says less than the last one,
// because of permissions that are missing or a record that cannot be read, counts when a second
// one confirms it.
func (l *loop) inspectedAgain(r result) {
	if r.err != nil {
		l.inspectionFailed(r)
		return
	}
	l.failedInspections = 0
	worse := r.found.Unreadable() || slices.ContainsFunc(r.found.Missing, func(p authorizationv1.ResourceAttributes) bool {
		return !slices.Contains(l.inspected.Missing, p)
	})
	if worse && !l.unconfirmed {
		l.unconfirmed = true
		l.schedule(taskInspect, min(l.target.Health.Period, l.fleet.periods.Inspect))
		return
	}
	l.unconfirmed = false
	if r.found.Refused != nil {
		l.lose(r.found.Refused)
		return
	}
	l.inspected = *r.found
	if l.inspected.Blocked() {
		l.lose(membershealth.PermissionsMissing(l.name, l.inspected.Missing))
		return
	}
	switch gone := l.inspected.Definitions.Absent; {
	case len(gone) > 0 && l.connection.Paused:
		l.lose(membershealth.DefinitionsHeldBack(l.connection.Mode, gone))
		return
	case len(gone) > 0:
		// Reconnecting installs them, independently of any backoff: the informers list
		// immediately, and every workload in the member is reconciled.
		l.lose(membershealth.DefinitionsMissing(l.connection.Mode, gone))
		return
	}
	l.scheduleInspection()
}

// inspectionFailed records a failed inspection. Several in a row lose the member, because a hub that
// cannot inspect it does not notice that another one took it over.
func (l *loop) inspectionFailed(r result) {
	l.failedInspections++
	l.log.V(1).Info("Inspection failed", "failures", l.failedInspections, "error", r.err.Error())
	switch {
	case l.failedInspections < inspectThreshold:
		l.scheduleInspection()
	case r.failure != nil: // After a panic.
		l.lose(r.failure)
	default:
		l.lose(l.connection.ExplainInspection(l.name, r.err))
	}
}

// countNodes counts the nodes in the cache, without a request.
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

// lose closes the connection and schedules a new attempt to connect.
func (l *loop) lose(f *membershealth.Failure) {
	f = l.credentials().Rejected(f)
	l.log.Info("Member lost", "reason", f.Reason, "message", f.Message)
	l.disengage()
	l.state.Known = true
	if l.access == nil && l.failure != nil {
		return // The kubeconfig was rejected; only a new one helps.
	}
	l.failure = f
	if l.running[taskConnect] == nil {
		l.schedule(taskConnect, l.backoff.Step())
	}
}

// disengage closes the connection, if there is one. The goroutine of the member waits for
// the connection to end when it ends itself.
func (l *loop) disengage() {
	l.provide(nil)
	l.end(l.connection)
	l.connection = nil
}

// end stops all tasks of a connection and closes it. The connection may be nil.
func (l *loop) end(c *connect.Connection) {
	l.stop(taskProbe)
	l.stop(taskInspect)
	l.stop(taskNodes)
	l.stop(taskListen)
	l.stop(taskRenew)
	l.stop(taskPods)
	l.misses, l.failedInspections, l.unconfirmed = 0, 0, false
	if c != nil {
		c.Close()
	}
}

// publish computes the conditions and notifies listeners of changes.
func (l *loop) publish() {
	l.state.Engaged = l.connection != nil
	if l.connection != nil {
		l.state.Info.Version = l.inspected.Server.Version
		l.state.Info.Capabilities = l.inspected.Server.Capabilities
		l.state.Info.AgentVersion = ""
		if l.connection.Mode == v1.ModeAgent {
			l.state.Info.AgentVersion = l.lease.Version()
		}
	}
	observation := membershealth.Observation{
		Member: l.name, Engaged: l.state.Engaged, Missing: l.inspected.Missing, Restricted: l.inspected.Restricted,
		Deleting: l.inspected.Definitions.Deleting, Outdated: l.inspected.Definitions.Outdated,
		Wanted: l.target.Mode, Lease: l.lease, Failure: l.failure,
	}
	if l.connection != nil {
		observation.Mode = l.connection.Mode
		observation.Paused, observation.SafeMode = l.connection.Paused, l.fleet.safeMode
	}
	l.state.Conditions = membershealth.Compute(l.state.Conditions, observation)
	l.state.OtherHub = ""
	if l.failure != nil {
		l.state.OtherHub = l.failure.OtherHub
	}
	l.state.CredentialsRenewed = l.credentials().Condition(l.now())
	if l.setState(l.state) {
		l.fleet.notify(l.name)
	}
}
