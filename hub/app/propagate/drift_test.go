package propagate

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// testDrift checks that an object that is changed or deleted in the member is written again when the watch reports
// it, but not for ever where another client changes it each time.
func testDrift(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	change := func() {
		t.Helper()
		found := p.secret(t)
		found.Data["password"] = []byte("theirs")
		if err := p.Update(t.Context(), found); err != nil {
			t.Fatal(err)
		}
		if woken := p.queue.see(found, found.ResourceVersion); len(woken) != 1 || woken[0] != p.key() {
			t.Errorf("the watch wakes %v, want the application", woken)
		}
	}
	const limit = 10
	for i := range limit {
		if change(); i == 0 { // What failed is tried again.
			p.denied = errors.New("away")
			if _, err := p.queue.Reconcile(t.Context(), reconcile.Request{NamespacedName: p.key()}); err == nil {
				t.Error("the Secret was compared although the member is away")
			}
			p.denied = nil
		}
		p.settle(t)
		p.wantPassword(t, "first")
		if woken := p.queue.see(p.secret(t), p.secret(t).ResourceVersion); len(woken) > 0 {
			t.Errorf("what the hub wrote wakes %v", woken)
		}
	}
	p.quietly(t)
	p.contend(t, change)
	p.wantPassword(t, "theirs")
	if found := p.result(); found.Failure == nil || found.Failure.Reason != v1.ReasonFieldManagerConflict {
		t.Errorf("reported %+v, want %s", found.Failure, v1.ReasonFieldManagerConflict)
	}
	p.clock.SetTime(p.clock.Now().Add(apply.RepairWindow))
	p.settle(t)
	p.wantPassword(t, "first")
	if err := p.Delete(t.Context(), p.secret(t)); err != nil {
		t.Fatal(err)
	}
	p.change(t, map[string][]byte{"password": []byte("second")}) // Another version begins a new count.
	p.clock.SetTime(p.clock.Now().Add(2 * sourcePeriod))
	p.settle(t)
	p.wantPassword(t, "second")
}

// contend checks that changes of an object whose repair has to wait cause no request.
func (p *propagator) contend(t *testing.T, change func()) {
	t.Helper()
	reads := p.reads
	p.denied = errors.New("read from the member")
	defer func() { p.denied = nil }()
	for range 3 {
		change()
		p.settle(t)
	}
	if p.reads != reads {
		t.Errorf("%d reads on the hub, want none", p.reads-reads)
	}
}
