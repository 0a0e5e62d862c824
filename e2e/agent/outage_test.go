package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// silenced stops the agent, and starts it again.
func (s *suite) silenced(t *testing.T) {
	t.Helper()
	before := s.mark(t)
	s.stopAgent[us](t)
	stopped := time.Now()
	s.awaitMember(t, us, "to say that its agent is silent", func(ready, agent metav1.Condition) error {
		if ready.Status != metav1.ConditionFalse || ready.Reason != v1.ReasonAgentSilent || agent.Status != metav1.ConditionFalse {
			return errors.New("does not")
		}
		return nil
	})
	s.await(t, s.shop, "to be Unknown in the region", func(status *v1.EcommerceAppStatus) error {
		entry := framework.Cluster(status, us)
		switch {
		case framework.Region(status, usRegion).Phase != v1.PhaseUnknown, !entry.Stale, entry.Ready:
			return fmt.Errorf("the region is %s", framework.Region(status, usRegion).Phase)
		case framework.Region(status, euRegion).Phase != v1.PhaseRunning:
			return fmt.Errorf("the other region is %s", framework.Region(status, euRegion).Phase)
		case !strings.Contains(entry.Message, v1.ReasonAgentSilent):
			return fmt.Errorf("says %q", entry.Message)
		case entry.LastObservedTime == nil, entry.LastObservedTime.After(stopped):
			return fmt.Errorf("was observed at %s, and the agent stopped at %s", entry.LastObservedTime, stopped)
		}
		return nil
	})
	s.startAgent(t, us)
	s.awaitReady(t, us, v1.ModeAgent)
	s.awaitRunning(t, euRegion, usRegion)
	s.unwritten(t, before)
}

// deleted deletes the shop while one agent is away for good: its member's mode is
// changed, and the hub goes on where the agent stopped.
func (s *suite) deleted(t *testing.T) {
	t.Helper()
	s.stopAgent[us](t)
	if err := s.hub.Delete(t.Context(), s.shop); err != nil {
		t.Fatal(err)
	}
	fleettest.Eventually(t, "the copies to be deleted", func(ctx context.Context) error {
		copied := &v1.EcommerceApp{}
		if err := s.members[us].Get(ctx, client.ObjectKeyFromObject(s.shop), copied); err != nil {
			return err
		}
		if copied.DeletionTimestamp == nil {
			return errors.New("the one with the agent is not")
		}
		return gone(ctx, s.members[eu], &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: s.shop.Name}})
	})
	s.grant(t, s.fleet.Member(us), "rbac/member")
	s.setMode(t, us, v1.ModeAgentless)
	s.awaitReady(t, us, v1.ModeAgentless)
	fleettest.Eventually(t, "the shop to be gone", func(ctx context.Context) error { return gone(ctx, s.hub, s.shop) })
	for _, name := range []string{eu, us} {
		if left := s.workloads(t, name); left != "" {
			t.Errorf("%s: left behind: %s", name, left)
		}
	}
}
