package conditions

import (
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// silence is how long an agent may give no sign of life. Its standby takes over
	// within 17 s, and a new version of it within a few more.
	silence = 40 * time.Second
	// looks is how many looks in a row must find nothing new, so that a hub that was
	// itself paused does not take its own silence for the agent's.
	looks = 3
)

// Sign is what an agent's Lease said when it was looked at; the zero value tells that
// there was none.
type LeaseSample struct {
	// Present tells that there was a Lease.
	Present bool
	// Holder is who holds it; empty when it was given back.
	Holder string
	// Renewed is when it was renewed, in microseconds of the clock there. It is
	// compared with itself alone: no two clocks need agree.
	Renewed int64
}

// Beat is how an agent is.
type LeaseState int

const (
	// BeatUnknown is what it is at first: one look alone tells nothing.
	BeatUnknown LeaseState = iota
	// BeatAlive agents gave a sign of life not long ago.
	BeatAlive
	// BeatSilent ones did not.
	BeatSilent
	// BeatMissing ones have never been there, or their Lease is gone.
	BeatMissing
)

// Pulse judges an agent by whether its Lease changes between one look and the next.
// The zero value knows nothing. It is a value: methods return the next one.
type LeaseMonitor struct {
	Beat LeaseState
	// Heard is when the last sign of life was seen; zero for never.
	Heard time.Time

	last    LeaseSample
	known   bool      // last was seen
	since   time.Time // when silence began to count
	silents int       // looks since then without anything new
}

// Resume begins to count silence anew: while nobody looked, nobody was silent.
func (p LeaseMonitor) Resume(now time.Time) LeaseMonitor {
	p.since, p.silents = now, 0
	return p
}

// After returns the pulse after a look.
func (p LeaseMonitor) After(s LeaseSample, now time.Time) LeaseMonitor {
	news := p.known && s != p.last && s.Holder != ""
	first := !p.known
	p.last, p.known = s, true
	if news {
		p.Beat, p.Heard, p.since, p.silents = BeatAlive, now, now, 0
		return p
	}
	p.silents++
	switch {
	case first && !s.Present:
		p.Beat = BeatMissing
	case p.silents < looks || now.Sub(p.since) < silence:
	case s.Present:
		p.Beat = BeatSilent
	default:
		p.Beat = BeatMissing
	}
	return p
}

// Condition says how the agent is.
func (p LeaseMonitor) Condition() Condition {
	switch p.Beat {
	case BeatAlive:
		return yes(v1.ReasonAgentAlive, "the agent gives signs of life")
	case BeatSilent:
		return no(v1.ReasonAgentSilent, "the agent gives no sign of life: what is known of the cluster's shops is as old as its last one")
	case BeatMissing:
		return no(v1.ReasonAgentMissing, "there is no agent in the cluster: "+messageInstall)
	default:
		return unknown(v1.ReasonConnecting, "waiting for a sign of life of the agent")
	}
}

// messageInstall is what helps where an agent is missing or too old.
const messageInstall = "kubectl shopfleet join --mode agent installs it"
