package health

import (
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// minReads is the number of consecutive reads that must find no renewal, so that a hub
// that was paused itself does not report the agent as silent.
const minReads = 3

// LeaseSample is one read of an agent's Lease. The zero value means that there is no
// Lease.
type LeaseSample struct {
	// Present is true if the Lease exists.
	Present bool
	// Holder is the holder identity; empty when the Lease was released.
	Holder string
	// Version is the version of the agent; empty if it is unknown.
	Version string
	// Renewed is the renewal time in Unix microseconds, by the clock of the member. It is
	// only compared with earlier values, so clock skew does not matter.
	Renewed int64
}

// LeaseState is the state of an agent.
type LeaseState int

const (
	// LeaseUnknown is the initial state: a single read proves nothing.
	LeaseUnknown LeaseState = iota
	// LeaseRenewed means that the Lease was renewed recently.
	LeaseRenewed
	// LeaseExpired means that the Lease exists and is not being renewed.
	LeaseExpired
	// LeaseMissing means that there is no Lease, or no longer one.
	LeaseMissing
)

// LeaseMonitor determines the state of an agent from changes of its Lease between reads.
// The zero value is ready for use. It is an immutable value: its methods return the next
// one.
type LeaseMonitor struct {
	State LeaseState
	// LastRenewal is when the last renewal was observed, by the hub's clock; zero if none was.
	LastRenewal time.Time

	last    LeaseSample
	known   bool      // last is set
	since   time.Time // start of the current period without renewals
	silents int       // reads in that period
}

// Resume restarts the period without renewals at now, after a time in which the Lease was
// not read.
func (l LeaseMonitor) Resume(now time.Time) LeaseMonitor {
	l.since, l.silents = now, 0
	return l
}

// After returns the monitor after the given sample was read at now. An agent that has not
// renewed its Lease for the time silence counts as silent.
func (l LeaseMonitor) After(s LeaseSample, now time.Time, silence time.Duration) LeaseMonitor {
	news := l.known && s != l.last && s.Holder != ""
	first := !l.known
	l.last, l.known = s, true
	if news {
		l.State, l.LastRenewal, l.since, l.silents = LeaseRenewed, now, now, 0
		return l
	}
	l.silents++
	switch {
	case first && !s.Present:
		l.State = LeaseMissing
	case l.silents < minReads || now.Sub(l.since) < silence:
	case s.Present:
		l.State = LeaseExpired
	default:
		l.State = LeaseMissing
	}
	return l
}

// Version returns the version of the agent; empty if it is unknown.
func (l LeaseMonitor) Version() string { return l.last.Version }

// Condition returns the condition AgentReady.
func (l LeaseMonitor) Condition() Condition {
	switch l.State {
	case LeaseRenewed:
		return yes(v1.ReasonAgentAlive, "the agent renews its Lease")
	case LeaseExpired:
		return no(v1.ReasonAgentSilent, "the agent has stopped renewing its Lease, and the reported status is outdated: check the agent's pods in the cluster")
	case LeaseMissing:
		return no(v1.ReasonAgentMissing, "the cluster has no agent: "+messageInstall)
	default:
		return unknown(v1.ReasonConnecting, "waiting for the agent to renew its Lease")
	}
}

// messageInstall explains how to install or upgrade an agent.
const messageInstall = "run kubectl shopfleet join --mode agent to install it"
