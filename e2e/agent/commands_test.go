package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testCommands drives the fleet by the plugin alone. The agent's pods are
// simulated, as all pods are; the agent itself runs in the test's process.
func (s *suite) testCommands(t *testing.T) {
	t.Helper()
	s.stopAgent[us]()
	s.startAgent(t, us)
	s.shop.ObjectMeta = metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: "commanded"}
	s.shop.Spec = v1.EcommerceAppSpec{Image: "shop:v1", Placement: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{us}}}}

	run := func(args ...string) framework.Outcome {
		t.Helper()
		return framework.CLI(t, s.Fleet.Hub(), args...)
	}
	access := s.Fleet.Member(us).AdminKubeconfig()

	run("join", us, "--member-kubeconfig", access, "--mode", "agent", "--labels", "tier=prod",
		"--spoke-image", "registry.example.com/shopfleet-spoke:v1", "--image-pull-secret", "mirror").
		Want(t, framework.Done, "us-1 is ready", "with an agent", "deployment.apps/shopfleet-spoke created")
	s.checkRoles(t, config.AgentRole, config.MemberClusterRole)
	s.Create(t, s.shop)
	s.AwaitRunning(t, s.shop, usRegion)

	s.addFormerPolicy(t)
	run("join", us, "--member-kubeconfig", access, "--mode", "agentless").Want(t, framework.Done, "us-1 is ready", "without an agent")
	s.checkRoles(t, config.MemberClusterRole, config.AgentRole)
	if mode := s.copyIn(t, us).ManagedByMode(); mode != v1.ManagedByHub {
		t.Errorf("the copy is managed by %q when join returns", mode)
	}

	run("join", us, "--member-kubeconfig", access, "--mode", "agent").Want(t, framework.Done, "us-1 is ready", "with an agent")
	s.checkRoles(t, config.AgentRole, config.MemberClusterRole)
	run("join", us, "--member-kubeconfig", access).
		Want(t, framework.Done, "us-1 is ready", "with an agent", "registry.example.com/shopfleet-spoke:v1")
	agent := &appsv1.Deployment{}
	if err := s.Members[us].Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: config.SpokeServiceAccount}, agent); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "mirror"}}, agent.Spec.Template.Spec.ImagePullSecrets); diff != "" {
		t.Errorf("pull Secrets of the agent that was installed again without the flag (-want +got):\n%s", diff)
	}
	run("version", "-o", "jsonpath={.members[?(@.name=='"+us+"')].agent}").Want(t, framework.Done, "test")
	run("renew", us).Want(t, framework.Done, "membercluster.ecommerce.io/us-1 renewed")
	s.awaitReady(t, us, v1.ModeAgent)
	member := &v1.MemberCluster{}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Name: us}, member); err != nil {
		t.Fatal(err)
	}
	if member.Labels["tier"] != "prod" {
		t.Errorf("switching took the labels away: %v", member.Labels)
	}

	run("unjoin", us, "--delete-agent", "--member-kubeconfig", access).
		Want(t, framework.Failed, "its agent runs EcommerceApps", "commanded", "Nothing was changed")
	s.Delete(t, s.shop)
	run("unjoin", us, "--delete-agent", "--revoke", "--yes", "--member-kubeconfig", access).
		Want(t, framework.Done, "us-1 left the fleet", "deployment.apps/shopfleet-spoke deleted")
	framework.AwaitGone(t, s.Members[us], &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.SpokeServiceAccount}})
	s.checkRoles(t, "", config.AgentRole)
}

// checkRoles checks which role the hub has in the member, and which it has not.
func (s *suite) checkRoles(t *testing.T, role, not string) {
	t.Helper()
	has := func(name string) bool {
		err := s.Members[us].Get(t.Context(), client.ObjectKey{Name: name}, &rbacv1.ClusterRoleBinding{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	if role != "" && !has(role) || has(not) {
		t.Errorf("the hub should have the role %q and not %q", role, not)
	}
	policies := &admissionv1.ValidatingAdmissionPolicyList{}
	if err := s.Members[us].List(t.Context(), policies, client.HasLabels{config.MemberPolicyLabel}); err != nil {
		t.Fatal(err)
	}
	bounded := false
	for i := range policies.Items {
		bounded = bounded || policies.Items[i].Name == accountPolicy
		if policies.Items[i].Name == formerPolicy {
			t.Error("the policy of a former version was not pruned")
		}
	}
	if bounded != (role != "") {
		t.Errorf("%d admission policies are there, with the hub's role %q", len(policies.Items), role)
	}
}

const (
	accountPolicy = "shopfleet-hub-account"
	formerPolicy  = "shopfleet-hub-former"
)

// addFormerPolicy creates an admission policy as a former version of join installed it.
func (s *suite) addFormerPolicy(t *testing.T) {
	t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	if err := s.Members[us].Get(t.Context(), client.ObjectKey{Name: accountPolicy}, policy); err != nil {
		t.Fatal(err)
	}
	policy.ObjectMeta = metav1.ObjectMeta{Name: formerPolicy, Labels: map[string]string{config.MemberPolicyLabel: "true"}}
	if err := s.Members[us].Create(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
}
