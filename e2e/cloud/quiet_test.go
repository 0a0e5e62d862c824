package cloud_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// quietPeriod is for how long nothing is done: longer than any wait of a controller
// that has something to do.
const quietPeriod = time.Minute

// settling is how long nothing must have been written before quietPeriod begins: what
// chapters before caused is none of this one's business. So often it is waited for.
const (
	settling  = 10 * time.Second
	settlings = 24
)

// quiet sees that neither clusters nor clouds are written to while nothing happens.
func (s *story) quiet(t *testing.T) {
	s.settle(t)
	before, asked := framework.Mark(t, s.fleet), map[string]int{}
	for _, p := range s.providers {
		asked[p.account()] = p.changes()
	}
	select {
	case <-t.Context().Done():
	case <-time.After(quietPeriod):
	}
	if writes := s.written(t, before); writes != "" {
		t.Errorf("written while nothing happened: %s", writes)
	}
	for _, p := range s.providers {
		if n := p.changes() - asked[p.account()]; n > 0 {
			t.Errorf("%s: asked for %d changes while nothing happened", p.account(), n)
		}
	}
}

// settle waits for the last writes of the chapters before.
func (s *story) settle(t *testing.T) {
	t.Helper()
	for range settlings { // After the last, quiet says what is still written.
		before := framework.Mark(t, s.fleet)
		select {
		case <-t.Context().Done():
		case <-time.After(settling):
		}
		if writes := s.written(t, before); writes == "" {
			return
		}
	}
}

// written says what the hub has written since a mark.
func (s *story) written(t *testing.T, since framework.Marks) string {
	t.Helper()
	var all strings.Builder
	for _, c := range s.fleet.Clusters() {
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
