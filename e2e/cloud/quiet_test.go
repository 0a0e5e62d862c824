package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/witness"
)

// quietPeriod is for how long nothing is done: longer than any wait of a controller
// that has something to do.
const quietPeriod = time.Minute

// settling is how long nothing must have been written before quietPeriod begins: what
// chapters before caused is none of this one's business.
const settling = 10 * time.Second

var errBusy = errors.New("the hub still writes")

// quiet sees that neither clusters nor clouds are written to while nothing happens.
func (s *story) quiet(t *testing.T) {
	s.settle(t)
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

// settle waits for the last writes of the chapters before.
func (s *story) settle(t *testing.T) {
	t.Helper()
	eventually(t, "the hub to have nothing left to do", func(ctx context.Context) error {
		before := witness.Mark(t, s.fleet)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settling):
		}
		for _, c := range s.fleet.Clusters() {
			if writes := before.Since(t, c).ByServiceAccount(config.Namespace, config.HubServiceAccount).Writes(); len(writes) > 0 {
				return fmt.Errorf("%w: in %s:\n%s", errBusy, c.Name(), writes)
			}
		}
		return nil
	})
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
