package framework

import (
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members"
)

// Lag bounds how long after the begin of an outage a process on a busy machine takes what it received before for new.
// An outage is known later than that.
const Lag = 3 * time.Second

// Health returns the probe settings of members in suites that wait for outages. With Timeouts,
// the hub loses a member after about 9 s without an answer, or 3 s of refused connections.
func Health() v1.Health { return v1.Health{ProbePeriodSeconds: new(int32(1))} }

// Timeouts returns the timeouts that suites start a hub with. They are shorter than the
// defaults, and long enough for a member that answers slowly because the machine is busy.
func Timeouts() members.Timeouts {
	return members.Timeouts{
		Dial: 3 * time.Second, Probe: 3 * time.Second, AgentTakeover: 4 * time.Second, AgentSilence: 20 * time.Second,
	}
}
