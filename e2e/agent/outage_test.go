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
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testSilentAgent stops the agent, and starts it again. An application that is deleted
// meanwhile, and does not wait for the agent, is cleaned up by it.
func (s *suite) testSilentAgent(t *testing.T) {
	t.Helper()
	before := s.Mark(t)
	left := framework.Small("left", "left", us)
	left.Spec.Deletion.UnreachableTimeout = &metav1.Duration{Duration: time.Second}
	s.Create(t, left)
	s.AwaitRunning(t, left, usRegion)
	s.stopAgent[us]()
	stopped := time.Now()
	s.awaitMember(t, us, "to say that its agent is silent", func(ready, agent metav1.Condition) error {
		if ready.Status != metav1.ConditionFalse || ready.Reason != v1.ReasonAgentSilent || agent.Status != metav1.ConditionFalse {
			return errors.New("does not")
		}
		return nil
	})
	s.AwaitApp(t, s.shop, "the shop to be Unknown in the region", func(status *v1.EcommerceAppStatus) error {
		entry := framework.Cluster(status, us)
		switch {
		case framework.Region(status, usRegion).Phase != v1.PhaseUnknown, !entry.Stale, entry.Ready:
			return fmt.Errorf("the region is %s", framework.Region(status, usRegion).Phase)
		case framework.Region(status, euRegion).Phase != v1.PhaseRunning:
			return fmt.Errorf("the other region is %s", framework.Region(status, euRegion).Phase)
		case !strings.Contains(entry.Message, v1.ReasonAgentSilent):
			return fmt.Errorf("says %q", entry.Message)
		case entry.LastObservedTime == nil, entry.LastObservedTime.After(stopped.Add(framework.Lag)):
			return fmt.Errorf("was observed at %s, and the agent stopped at %s", entry.LastObservedTime, stopped)
		}
		return nil
	})
	s.Delete(t, left)
	s.awaitResidue(t, 1)
	s.startAgent(t, us)
	s.awaitReady(t, us, v1.ModeAgent)
	s.AwaitRunning(t, s.shop, euRegion, usRegion)
	s.checkUnwritten(t, before)
	s.awaitResidue(t, 0)
	framework.AwaitGone(t, s.Members[us], left)
	if deletes := s.Since(t, before, s.Fleet.Member(us)).Deletes().Succeeded().In(left.Namespace); len(deletes) != 1 || deletes[0].Resource != "ecommerceapps" {
		t.Errorf("want one deletion by the hub, of the copy that stayed behind:\n%s", deletes)
	}
}

// awaitResidue waits until us counts what stayed behind.
func (s *suite) awaitResidue(t *testing.T, want int32) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: us}}
	framework.Await(t, s.Hub, member, "to count what stayed behind", func(m *v1.MemberCluster) error {
		if got := m.Status.ResidueCount; got != want {
			return fmt.Errorf("counts %d, want %d", got, want)
		}
		return nil
	})
}

// testDeletion deletes the shop while one agent is away for good: its member's mode is
// changed, and the hub goes on where the agent stopped.
func (s *suite) testDeletion(t *testing.T) {
	t.Helper()
	s.stopAgent[us]()
	if err := s.Hub.Delete(t.Context(), s.shop); err != nil {
		t.Fatal(err)
	}
	framework.Eventually(t, "the copies to be deleted", func(ctx context.Context) error {
		copied := &v1.EcommerceApp{}
		if err := s.Members[us].Get(ctx, client.ObjectKeyFromObject(s.shop), copied); err != nil {
			return err
		}
		if copied.DeletionTimestamp == nil {
			return errors.New("the one with the agent is not")
		}
		return framework.Gone(ctx, s.Members[eu], &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: s.shop.Name}})
	})
	framework.Apply(t, s.Fleet.Member(us), framework.MemberManifests)
	s.setMode(t, us, v1.ModeAgentless)
	s.awaitReady(t, us, v1.ModeAgentless)
	framework.AwaitGone(t, s.Hub, s.shop)
	for _, name := range []string{eu, us} {
		if left := s.workloads(t, name); left != "" {
			t.Errorf("%s: left behind: %s", name, left)
		}
	}
}
