package propagate

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// testEarlierRevision joins a member after a rollback: it gets the Secret that the revision refers to which it gets,
// though the spec does not list it any more, and keeps it as long as a cluster may have the revision.
func testEarlierRevision(t *testing.T, p *propagator) {
	t.Helper()
	store := p.dispatcher.Revisions
	p.app.Spec.Rollout = &v1.Rollout{}
	first, err := store.Resolve(t.Context(), p.app)
	if err = errors.Join(err, store.Store(t.Context(), p.app, first)); err != nil {
		t.Fatal(err)
	}
	p.app.Spec.Image, p.app.Spec.Propagate = "shop:v2", p.app.Spec.Propagate[1:]
	second, err := store.Resolve(t.Context(), p.app)
	if err != nil {
		t.Fatal(err)
	}
	p.app.Status.Rollout = &v1.RolloutStatus{State: v1.RolloutRolledBack, Revision: second.Revision, PreviousRevision: first.Revision, SpecHash: second.Hash}
	p.app.Status.Clusters[0].Revision = first.Revision
	p.settle(t)
	if condition, unread, err := p.dispatcher.Observe(t.Context(), p.app); err != nil || unread || condition == nil || condition.Status != metav1.ConditionTrue {
		t.Errorf("the condition is %+v, %v, want what is propagated", condition, err)
	}
	p.wantPassword(t, "first")
	p.change(t, map[string][]byte{"password": []byte("second")})
	p.clock.SetTime(p.clock.Now().Add(time.Hour))
	p.settle(t)
	p.wantPassword(t, "second")
	p.app.Status.Rollout.State, p.app.Status.Clusters[0].Revision = v1.RolloutComplete, second.Revision
	p.settle(t)
	if p.secret(t) != nil {
		t.Error("the Secret is there, though no cluster can have the revision any more")
	}
}
