package cloud_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// longestWait bounds all waits of the hub, resyncs included. It adds up to 30 % by
	// chance.
	longestWait = 4 * time.Second
	// quietPeriod is how long nothing may be written: everything that waits has looked
	// again by then.
	quietPeriod = 7 * time.Second
	// settling is how long nothing must have been written before quietPeriod begins, so
	// that what earlier subtests caused does not count, mere progress included, which waits for
	// 5 s while few shops make it; settlings is how often that is tried.
	settling  = 7 * time.Second
	settlings = 48
)

// testIdle sees that neither clusters nor clouds are written to while nothing happens.
func (s *suite) testIdle(t *testing.T) {
	t.Helper()
	s.settle(t)
	before, asked := framework.Mark(t, s.Fleet), map[string]int{}
	for _, p := range s.providers {
		asked[p.account()] = p.changes()
	}
	framework.Pause(t, quietPeriod)
	if writes := s.written(t, before); writes != "" {
		t.Errorf("written while nothing happened: %s", writes)
	}
	for _, p := range s.providers {
		if n := p.changes() - asked[p.account()]; n > 0 {
			t.Errorf("%s: asked for %d changes while nothing happened", p.account(), n)
		}
	}
}

// settle blocks until the last writes of earlier subtests.
func (s *suite) settle(t *testing.T) {
	t.Helper()
	for range settlings { // After the last, quiet says what is still written.
		before := framework.Mark(t, s.Fleet)
		framework.Pause(t, settling)
		if writes := s.written(t, before); writes == "" {
			return
		}
	}
}

// written says what the hub has written since a mark.
func (s *suite) written(t *testing.T, since framework.Marks) string {
	t.Helper()
	var all strings.Builder
	for _, c := range s.Fleet.Clusters() {
		if writes := since.Since(t, c).ByServiceAccount(config.Namespace, config.HubServiceAccount).Writes(); len(writes) > 0 {
			fmt.Fprintf(&all, "%s:\n%s\n", c.Name(), writes)
		}
	}
	return all.String()
}

// changes counts the changes that the provider was asked for so far.
func (p *provider) changes() int {
	n := 0
	for _, call := range p.script.Calls() {
		if call.Op.Mutates() {
			n++
		}
	}
	return n
}
