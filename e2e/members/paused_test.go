package members_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testPaused checks that the hub writes nothing to a member that is paused, be it new or connected before, and says
// which definitions it would install. It installs them at the end of the pause.
func (s *suite) testPaused(t *testing.T) {
	s.awaitGone(t)
	eu := s.Member("eu-1")
	admin := framework.Admin(t, eu)
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}, Spec: v1.MemberClusterSpec{Paused: true}}
	lacksDefinition := func(before framework.Marks) {
		t.Helper()
		s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSetupFailed)
		// For as long as the deletion takes, the condition says that.
		framework.Await(t, s.hub, m.DeepCopy(), "the condition to say what is missing, and what it waits for", func(m *v1.MemberCluster) error {
			got := message(m, v1.ConditionReady)
			if !strings.Contains(got, definitionName) || !strings.HasSuffix(got, "the hub installs it at the end of spec.paused of the MemberCluster, or of its safe mode") {
				return fmt.Errorf("%w: %q", errUnexpected, got)
			}
			return nil
		})
		if writes := before.By(t, eu, config.HubServiceAccount).Writes(); len(writes) > 0 {
			t.Errorf("the member is paused, and the hub wrote:\n%s", writes)
		}
	}
	setPaused := func(paused bool, reason string) {
		t.Helper()
		framework.Edit(t, s.hub, m, func(m *v1.MemberCluster) { m.Spec.Paused = paused })
		s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, reason)
	}
	deleteAndAwait := func() {
		t.Helper()
		framework.DeleteDefinition(t, admin, definition())
		framework.AwaitGone(t, admin, definition())
	}

	deleteAndAwait()
	if err := s.hub.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	before := framework.Mark(t, s.Fleet)
	s.register(t, "eu-1", s.kubeconfig(t, eu))
	lacksDefinition(before)
	setPaused(false, v1.ReasonConnected)

	setPaused(true, v1.ReasonPaused)
	before = framework.Mark(t, s.Fleet)
	s.swap(t)
	deleteAndAwait()
	lacksDefinition(before)
	setPaused(false, v1.ReasonConnected)
	if _, err := uidOf(t.Context(), admin); err != nil {
		t.Errorf("the definition after the pause: %v", err)
	}
}
