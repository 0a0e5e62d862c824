package agent_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	program "github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/commands"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// commands drives the fleet by kubectl shopfleet alone. The agent's pods are
// simulated, as all pods are; the agent itself runs in the test's process.
func (s *suite) commands(t *testing.T) {
	t.Helper()
	s.stopAgent[us](t)
	s.startAgent(t, us)
	s.shop.ObjectMeta = metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: "commanded"}
	s.shop.Spec = v1.EcommerceAppSpec{Image: "shop:v1", Placement: v1.Placement{ClusterNames: []string{us}}}

	s.run(t, 0, "us-1 is ready", "with an agent", "deployment.apps/shopfleet-spoke created")(
		"join", us, "--member-kubeconfig", s.fleet.Member(us).AdminKubeconfig(), "--mode", "agent", "--labels", "tier=prod",
		"--spoke-image", "registry.example.com/shopfleet-spoke:v1")
	s.holds(t, config.AgentRole, config.MemberClusterRole)
	if err := s.hub.Create(t.Context(), s.shop); err != nil {
		t.Fatal(err)
	}
	s.awaitRunning(t, usRegion)

	s.run(t, 0, "us-1 is ready", "without an agent")(
		"join", us, "--member-kubeconfig", s.fleet.Member(us).AdminKubeconfig(), "--mode", "agentless")
	s.holds(t, config.MemberClusterRole, config.AgentRole)
	if home := s.copyIn(t, us).ManagedByMode(); home != v1.ManagedByHub {
		t.Errorf("the copy is at home at %q when join says that it is done", home)
	}

	s.run(t, 0, "us-1 is ready", "with an agent")(
		"join", us, "--member-kubeconfig", s.fleet.Member(us).AdminKubeconfig(), "--mode", "agent")
	s.holds(t, config.AgentRole, config.MemberClusterRole)
	s.run(t, 0, "us-1 is ready", "with an agent", "registry.example.com/shopfleet-spoke:v1")("join", us, "--member-kubeconfig", s.fleet.Member(us).AdminKubeconfig())
	s.run(t, 0, "Agent")("clusters", us, "-o", "wide")
	member := &v1.MemberCluster{}
	if err := s.hub.Get(t.Context(), client.ObjectKey{Name: us}, member); err != nil {
		t.Fatal(err)
	}
	if member.Labels["tier"] != "prod" {
		t.Errorf("switching took the labels away: %v", member.Labels)
	}

	s.run(t, 1, "its agent runs EcommerceApps", "commanded", "Nothing was changed")(
		"unjoin", us, "--remove-agent", "--member-kubeconfig", s.fleet.Member(us).AdminKubeconfig())
	if err := s.hub.Delete(t.Context(), s.shop); err != nil {
		t.Fatal(err)
	}
	fleettest.Eventually(t, "the shop to be gone", func(ctx context.Context) error { return gone(ctx, s.hub, s.shop) })
	s.run(t, 0, "us-1 left the fleet", "deployment.apps/shopfleet-spoke deleted")(
		"unjoin", us, "--remove-agent", "--revoke", "--member-kubeconfig", s.fleet.Member(us).AdminKubeconfig())
	fleettest.Eventually(t, "the agent to be gone", func(ctx context.Context) error {
		return gone(ctx, s.members[us], &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.SpokeServiceAccount}})
	})
	s.holds(t, "", config.AgentRole)
}

// run runs the program against the hub, and checks the exit code and parts of what it says.
func (s *suite) run(t *testing.T, code int, parts ...string) func(args ...string) {
	t.Helper()
	return func(args ...string) {
		t.Helper()
		var out bytes.Buffer
		got := program.New(program.Invocation{
			Args:    append([]string{"kubectl-shopfleet", "--kubeconfig", s.fleet.Hub().AdminKubeconfig()}, args...),
			Version: "v0.0.0-test",
			Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out},
		}).Run(t.Context())
		t.Logf("%s: exit code %d\n%s", strings.Join(args, " "), got, out.String())
		if got != code {
			t.Fatalf("exit code %d, want %d", got, code)
		}
		for _, part := range parts {
			if !strings.Contains(out.String(), part) {
				t.Errorf("it does not say %q", part)
			}
		}
	}
}

// holds checks which role the hub has in the member, and which it has not.
func (s *suite) holds(t *testing.T, role, not string) {
	t.Helper()
	has := func(name string) bool {
		err := s.members[us].Get(t.Context(), client.ObjectKey{Name: name}, &rbacv1.ClusterRoleBinding{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	if role != "" && !has(role) || has(not) {
		t.Errorf("the hub should have the role %q and not %q", role, not)
	}
}
