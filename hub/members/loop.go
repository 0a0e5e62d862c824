package members

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/connect"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/health"
)

const (
	// Connecting is retried after 0.5 s, or Periods.Retry if that is less; the delay doubles up to
	// Periods.Retry, and jitter adds up to half of it.
	retryFirst  = 500 * time.Millisecond
	retryFactor = 2
	retryJitter = 0.5
	// recoveryPeriod is the time between the probes that a lost member must answer, unless its
	// period is shorter.
	recoveryPeriod = 500 * time.Millisecond
	// connectSpacing is the mean time between the first attempts of members that are
	// registered together, and maxConnectSpread bounds it for all of them.
	connectSpacing   = 10 * time.Millisecond
	maxConnectSpread = 5 * time.Second

	// inspectFactor times Periods.Inspect is the period of inspections while nothing is
	// missing.
	inspectFactor = 4
	// listenSoon is the time between reads of the Lease while the state of the agent is
	// unknown.
	listenSoon = time.Second
	// inspectSoon is the delay of the first inspection of a member that does not restrict the hub's account.
	inspectSoon = 5 * time.Second
	// inspectNow is the delay of an inspection that informers ask for, so that their
	// reports are batched.
	inspectNow = 500 * time.Millisecond
	// inspectThreshold is the number of failed inspections in a row that lose a member.
	inspectThreshold = 3
	// nodesDelay is the time during which changes of nodes are batched.
	nodesDelay = time.Second
	// idle is how long the goroutine sleeps when no task is scheduled.
	idle = time.Hour
	// spread is the jitter factor of all periods.
	spread = 0.1
)

// task identifies a scheduled operation. All but taskNodes send requests to the member.
type task int

const (
	taskConnect task = iota
	taskProbe
	taskInspect
	taskNodes
	taskListen
	taskRenew
	taskPods
)

// errPanicked means that a task panicked.
var errPanicked = errors.New("task panicked")

// tasks is the number of tasks.
const tasks = int(taskPods) + 1

// loop is the state of a member's goroutine. Only that goroutine uses it.
type loop struct {
	*accessor
	fleet *Fleet
	aware multicluster.Aware
	log   logr.Logger

	// The desired state.
	target Target
	access *kubeconfig.Access // nil if the kubeconfig was rejected
	parsed bool
	// hosts holds the hosts that metrics of requests may name.
	hosts map[string]bool

	// The observed state.
	connection           *connect.Connection // nil unless engaged
	wasEngaged           bool
	state                State
	inspected            connect.Inspection
	inspectedFingerprint string // the fingerprint of the kubeconfig of inspected
	lease                health.LeaseMonitor
	known                *connect.Known // about the member's record
	unconfirmed          bool           // by the last inspection; see inspectedAgain
	failure              *health.Failure
	misses               int // consecutive failed probes
	failedInspections    int // consecutive failed inspections
	failures             int // consecutive failed attempts to connect
	failedSince          time.Time
	silent               bool // the last attempt to connect got no answer
	backoff              wait.Backoff
	renewal              renewal

	// Scheduled and running tasks.
	due     [tasks]time.Time
	running [tasks]*job
	results chan result
	nodes   chan struct{}
	// unserved holds a value when an informer reported that its kind is not served.
	unserved chan struct{}
	group    sync.WaitGroup
}

// job is a running task.
type job struct{ cancel context.CancelFunc }

// result is the outcome of a task. Each task sets some of the fields.
type result struct {
	task      task
	job       *job
	started   time.Time
	uid       string
	err       error
	failure   *health.Failure
	connected *connect.Connected
	answered  bool // a probe of an attempt to connect succeeded
	found     *connect.Inspection
	sample    health.LeaseSample
	renewed   *Renewed
	requested corev1.ResourceList
}

func newLoop(f *Fleet, a *accessor, aware multicluster.Aware) *loop {
	return &loop{
		accessor: a,
		fleet:    f,
		aware:    aware,
		hosts:    map[string]bool{},
		log:      f.settings.Logger.WithValues("cluster", a.name),
		state:    a.current(),
		known:    connect.NewKnown(),
		backoff:  f.newBackoff(),
		renewal:  renewal{backoff: f.newRenewBackoff()},
		results:  make(chan result),
		nodes:    make(chan struct{}, 1),
		unserved: make(chan struct{}, 1),
	}
}

// nudge sends to a channel with a buffer of one, and never blocks.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (f *Fleet) newBackoff() wait.Backoff {
	const steps = 8 // More than it takes to reach the cap.
	return wait.Backoff{Duration: min(retryFirst, f.periods.Retry), Factor: retryFactor, Jitter: retryJitter, Cap: f.periods.Retry, Steps: steps}
}

// firstConnect returns the delay of a member's first attempt to connect. Members that are
// registered together, as at the start of the hub, spread over a time in proportion to
// their number, so that a small fleet connects at once.
func (f *Fleet) firstConnect() time.Duration {
	f.mu.RLock()
	defer f.mu.RUnlock()
	spread := min(time.Duration(len(f.accessors))*connectSpacing, maxConnectSpread)
	return wait.Jitter(spread, 1) - spread
}

// run keeps the member connected until ctx is done.
func (l *loop) run(ctx context.Context) {
	defer l.deleteSeries()
	defer l.group.Wait()
	defer l.disengage()
	l.retarget()
	for ctx.Err() == nil {
		l.startDue(ctx)
		l.publish()
		l.await(ctx)
	}
}

// await blocks until the next event and handles it.
func (l *loop) await(ctx context.Context) {
	timer := l.fleet.settings.Clock.NewTimer(l.untilDue())
	defer timer.Stop()
	var ended <-chan struct{}
	if l.connection != nil {
		ended = l.connection.Ended()
	}
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-l.changed:
		l.retarget()
	case r := <-l.results:
		l.finish(ctx, r)
	case <-l.nodes:
		if l.due[taskNodes].IsZero() {
			l.schedule(taskNodes, nodesDelay)
		}
	case <-l.unserved:
		l.hastenInspection()
	case <-ended:
		l.lose(&health.Failure{Step: health.StepSetup, Reason: v1.ReasonSetupFailed, Message: "the cache of the cluster stopped unexpectedly"})
	}
}

func (l *loop) now() time.Time { return l.fleet.settings.Clock.Now() }

func (l *loop) schedule(t task, after time.Duration) { l.due[t] = l.now().Add(after) }

func (l *loop) untilDue() time.Duration {
	next := idle
	for _, due := range l.due {
		if !due.IsZero() {
			next = min(next, max(due.Sub(l.now()), 0))
		}
	}
	return next
}

// startDue starts each task that is due, unless it is still running.
func (l *loop) startDue(ctx context.Context) {
	for t := range task(tasks) {
		if l.due[t].IsZero() || l.due[t].After(l.now()) || l.running[t] != nil {
			continue
		}
		l.due[t] = time.Time{}
		switch t {
		case taskConnect:
			l.startConnect(ctx)
		case taskProbe:
			probe := l.connection.Probe
			l.start(ctx, t, func(ctx context.Context) (r result) {
				r.uid, r.err = probe(ctx)
				return r
			})
		case taskInspect:
			inspect := l.connection.Inspect
			l.start(ctx, t, func(ctx context.Context) (r result) {
				r.found, r.err = inspect(ctx)
				return r
			})
		case taskNodes:
			l.countNodes(ctx)
		case taskListen:
			listen := l.connection.SampleLease
			l.start(ctx, t, func(ctx context.Context) (r result) {
				r.sample, r.err = listen(ctx)
				return r
			})
		case taskRenew:
			l.startRenew(ctx)
		case taskPods:
			l.startPods(ctx)
		}
	}
}

// start runs a task in its own goroutine. The result is dropped if the task is cancelled
// before the loop receives it.
func (l *loop) start(member context.Context, t task, do func(context.Context) result) {
	ctx, cancel := context.WithCancel(member)
	j := &job{cancel: cancel}
	l.running[t] = j
	started := l.now()
	l.group.Go(func() {
		defer cancel()
		r := l.attempt(ctx, do)
		r.task, r.job, r.started = t, j, started
		select {
		case l.results <- r:
		case <-member.Done():
			l.discard(r.connected)
		}
	})
}

// attempt runs a task. A panic fails the task alone: what one member answers must not end the
// hub, which has all others.
func (l *loop) attempt(ctx context.Context, do func(context.Context) result) (r result) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		for _, handle := range utilruntime.PanicHandlers { // They log the stack.
			handle(ctx, cause)
		}
		r = result{err: errPanicked, failure: &health.Failure{
			Step: health.StepSetup, Reason: v1.ReasonSetupFailed, Message: "the hub panicked while it connected to the cluster: see its log, and report it",
		}}
		l.log.Error(r.err, "Recovered a panic", "cause", fmt.Sprint(cause))
	}()
	return do(ctx)
}

// stop cancels a task and removes it from the schedule.
func (l *loop) stop(t task) {
	l.due[t] = time.Time{}
	if l.running[t] != nil {
		l.running[t].cancel()
		l.running[t] = nil
	}
}

func (l *loop) startConnect(ctx context.Context) {
	a := &connect.Attempt{
		Settings:     l.fleet.settings,
		Name:         l.name,
		Access:       l.access,
		Mode:         l.target.Mode,
		Paused:       l.target.Paused,
		Pause:        l.pause,
		RequireAgent: l.connection != nil && l.connection.Mode != l.target.Mode,
		Known:        l.known,
		Replaces:     l.target.Replaces,
		Lease:        l.lease,
		Probes:       1,
		Period:       min(l.target.Health.Period, recoveryPeriod),
		Admit:        func(uid string) *health.Failure { return l.fleet.claims.Admit(ctx, l.name, uid) },
		Indexes:      l.fleet.fieldIndexes(),
		NodesChanged: func() { nudge(l.nodes) },
		Unserved:     func() { nudge(l.unserved) },
	}
	if l.wasEngaged && l.connection == nil {
		a.Probes = l.target.Health.SuccessThreshold
	}
	l.start(ctx, taskConnect, func(attemptCtx context.Context) (r result) {
		r.connected, r.failure = a.Connect(attemptCtx, ctx)
		r.answered = a.Answered
		return r
	})
}

// retarget reads the target and acts on changes. It also runs when another member was
// removed, because that member may have been a duplicate of this one.
func (l *loop) retarget() {
	last := l.target
	l.target = l.wanted()
	if last.RenewedAccount != l.target.RenewedAccount || last.RenewRequest != l.target.RenewRequest {
		defer l.scheduleRenewal()
	}
	if l.parsed && bytes.Equal(last.Kubeconfig, l.target.Kubeconfig) && last.Mode == l.target.Mode && last.Paused == l.target.Paused {
		if l.connection == nil && !l.due[taskConnect].IsZero() {
			l.schedule(taskConnect, 0)
		}
		return
	}
	var delay time.Duration
	if !l.parsed {
		delay = l.fleet.firstConnect()
	}
	l.parsed = true
	l.stop(taskConnect)
	l.backoff = l.fleet.newBackoff()
	access, err := kubeconfig.Parse(l.target.Kubeconfig)
	l.access = access
	l.noteHost()
	var rejected *kubeconfig.Error
	switch {
	case errors.As(err, &rejected):
		l.reject(rejected)
	case l.connection != nil && l.connection.Access.Fingerprint == access.Fingerprint && l.connection.Mode == l.target.Mode && l.connection.Paused == l.target.Paused:
		l.failure = nil
		l.withdrawOffer()
	default:
		if l.connection == nil && l.failure != nil && l.failure.Step == health.StepKubeconfig {
			l.state.Conditions = health.NotObserved()
		}
		l.failure = nil
		l.schedule(taskConnect, delay)
	}
}

// reject records a kubeconfig that must not be used. If the kubeconfig was removed, the
// connection ends; otherwise the connection of the previous kubeconfig continues.
func (l *loop) reject(err *kubeconfig.Error) {
	f := &health.Failure{Step: health.StepKubeconfig, Reason: err.Reason, Message: err.Message}
	l.failure = f
	l.state.Known = true
	if err.Reason == v1.ReasonKubeconfigMissing && l.connection != nil {
		l.lose(f)
	}
}
