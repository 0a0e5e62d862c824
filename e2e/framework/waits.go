package framework

import (
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members"
)

// Health returns how suites have members probed whose outages they wait for. With Timeouts,
// a member that does not answer is lost after 9 s, and one that refuses connections after 3.
func Health() v1.Health { return v1.Health{ProbePeriodSeconds: new(int32(1))} }

// Timeouts returns those that suites start a hub with, so that it notices an outage soon.
// Three seconds leave room for a busy machine, on which a member works and answers late.
func Timeouts() members.Timeouts {
	return members.Timeouts{
		Dial: 3 * time.Second, Probe: 3 * time.Second, AgentTakeover: 4 * time.Second, AgentSilence: 10 * time.Second,
	}
}
