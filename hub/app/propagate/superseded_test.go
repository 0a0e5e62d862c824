package propagate

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// testSuperseded checks that a pass deletes nothing when another order has come since, which may list it again.
func testSuperseded(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	listed := p.app.Spec.Propagate
	registry := listed[0]
	p.app.Spec.Propagate = listed[1:]
	decision := &state.Decision{App: p.app.DeepCopy(), Orders: map[string]*state.Order{"a": {Hash: "without"}}}
	owner := &state.Owner{UID: p.copied.UID, Leftover: []v1.PropagatedObject{registry}}
	p.dispatcher.State.HandOver(decision)
	p.queue.Memory.End(p.key(), &state.Result{App: p.app.UID, Hash: "without", Owner: owner})
	slow := p.queue.passOver(decision, owner)
	p.app.Spec.Propagate = listed
	p.app.Generation++
	p.settle(t)
	if err := slow.prune(t.Context(), registry); err != nil {
		t.Fatal(err)
	}
	p.wantPassword(t, "first")
}

// testHubAway checks that a hub whose API server does not respond is no failure of the cluster, and is asked again.
func testHubAway(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	p.change(t, map[string][]byte{"password": []byte("second")})
	request := reconcile.Request{NamespacedName: p.key()}
	known := p.dispatcher.State.Sources(p.key(), p.app.UID)
	p.dispatcher.State.ReplaceSource(p.key(), p.app.UID, state.Source{PropagatedObject: known.Listed[0], Version: "second"})
	p.away = errors.New("no route")
	if _, err := p.queue.Reconcile(t.Context(), request); !errors.Is(err, errNotRead) || p.result().Failure != nil {
		t.Errorf("error %v, and the cluster has %+v", err, p.result().Failure)
	}
	p.away = nil
	p.settle(t)
	p.wantPassword(t, "second")
}

// testPanic checks that a panic is a failure of the cluster, and goes on to the queue.
func testPanic(t *testing.T, p *propagator) {
	t.Helper()
	p.settle(t)
	defer func() {
		if cause := recover(); cause == nil || p.result().Failure == nil {
			t.Errorf("the cause is %v, and the cluster has %+v", cause, p.result())
		}
	}()
	p.queue.cluster = nil
	p.app.Spec.Propagate = p.app.Spec.Propagate[1:]
	p.app.Generation++
	p.reconcile(t)
}
