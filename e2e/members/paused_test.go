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

// testPaused: the hub writes nothing to a member that is paused, be it new or connected before, and
// says which definitions it would install. It installs them at the end of the pause.
func (e *suite) testPaused(t *testing.T) {
	e.awaitGone(t)
	eu := e.Member("eu-1")
	admin := framework.Admin(t, eu)
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}, Spec: v1.MemberClusterSpec{Paused: true}}
	lacksDefinition := func(before framework.Marks) {
		t.Helper()
		e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSetupFailed)
		// For as long as the deletion takes, the condition says that.
		framework.Await(t, e.hub, m.DeepCopy(), "the condition to say what is missing, and what it waits for", func(m *v1.MemberCluster) error {
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
		framework.Edit(t, e.hub, m, func(m *v1.MemberCluster) { m.Spec.Paused = paused })
		e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, reason)
	}
	deleteAndAwait := func() {
		t.Helper()
		framework.DeleteDefinition(t, admin, definition())
		framework.AwaitGone(t, admin, definition())
	}

	deleteAndAwait()
	if err := e.hub.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	before := framework.Mark(t, e.Fleet)
	e.register(t, "eu-1", e.kubeconfig(t, eu))
	lacksDefinition(before)
	setPaused(false, v1.ReasonConnected)

	setPaused(true, v1.ReasonPaused)
	before = framework.Mark(t, e.Fleet)
	e.swap(t)
	deleteAndAwait()
	lacksDefinition(before)
	setPaused(false, v1.ReasonConnected)
	if _, err := uidOf(t.Context(), admin); err != nil {
		t.Errorf("the definition after the pause: %v", err)
	}
}
