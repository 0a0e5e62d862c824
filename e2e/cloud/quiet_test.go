package cloud_test

import (
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/witness"
)

// quietPeriod is for how long nothing is done: longer than any wait of a controller
// that has something to do.
const quietPeriod = time.Minute

// quiet sees that neither clusters nor clouds are written to while nothing happens.
func (s *story) quiet(t *testing.T) {
	before, asked := witness.Mark(t, s.fleet), map[string]int{}
	for _, p := range s.providers {
		asked[p.account()] = p.changes()
	}
	select {
	case <-t.Context().Done():
	case <-time.After(quietPeriod):
	}
	for _, c := range s.fleet.Clusters() {
		writes := before.Since(t, c).ByServiceAccount(config.Namespace, config.HubServiceAccount).Writes()
		if len(writes) > 0 {
			t.Errorf("%s: written to while nothing happened:\n%s", c.Name(), writes)
		}
	}
	for _, p := range s.providers {
		if n := p.changes() - asked[p.account()]; n > 0 {
			t.Errorf("%s: asked for %d changes while nothing happened", p.account(), n)
		}
	}
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
