package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

func TestAgent(t *testing.T) {
	s := newSuite(t)
	s.revokeRecord(t)
	s.StartHub(t)
	s.register(t, eu, v1.ModeAgentless)
	s.register(t, us, v1.ModeAgent)
	s.awaitReady(t, eu, v1.ModeAgentless)
	const installed, running = "member without an agent says what is missing", "shop runs the same in both modes"
	const deleted = "deletion continues when the mode changes"
	const granted = "member that joined before the record existed says what to run"
	var steps framework.Steps
	steps.Add(granted, s.testOldRole)
	steps.Add(installed, s.testAgentMissing, granted)
	steps.Add(running, s.testSameObjects, installed)
	steps.Add("hub touches only copies and storage classes", s.testHubRequests, running)
	steps.Add("restarts write nothing", s.testRestarts, running)
	steps.Add("agent corrects drift without a hub", s.testHubOutage, running)
	steps.Add("edit reaches both", s.testEdit, running)
	steps.Add("plan of a copy that the agent reconciles", s.testPlan, running)
	steps.Add("paused application", s.testPausedApp, running)
	steps.Add("paused member", s.testPausedMember, running)
	steps.Add("propagation with a role in the member", s.testPropagation, running)
	steps.Add("faults before an agent", s.testFaults, running)
	steps.Add("mode changes under a running shop", s.testModeChange, running)
	steps.Add("mode that is not possible changes nothing", s.testRefusedModeChange, running)
	steps.Add("silent agent is Unknown and recovers", s.testSilentAgent, running)
	steps.Add(deleted, s.testDeletion, running)
	steps.Add("join changes the mode and unjoin removes the agent", s.testCommands, deleted)
	steps.Run(t)
}

// revokeRecord takes away what the hub's role in a member has for the record.
func (s *suite) revokeRecord(t *testing.T) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.AgentRole}}
	framework.Edit(t, s.Members[us], role, func(r *rbacv1.Role) {
		r.Rules = slices.DeleteFunc(r.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "configmaps") })
	})
}

// testOldRole grants the permissions for the record only after the hub has said how.
func (s *suite) testOldRole(t *testing.T) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: us}}
	c := framework.AwaitCondition(t, s.Hub, member, metav1.Condition{Type: v1.ConditionAuthorized, Status: metav1.ConditionFalse, Reason: v1.ReasonPermissionsMissing})
	if !strings.Contains(c.Message, "configmaps") || !strings.Contains(c.Message, "run kubectl shopfleet join us-1 again") {
		t.Errorf("message %q does not say what is missing and what to run", c.Message)
	}
	framework.Apply(t, s.Fleet.Member(us), framework.AgentManifests)
}

// testAgentMissing installs the agent only after the hub has said that there is none.
func (s *suite) testAgentMissing(t *testing.T) {
	t.Helper()
	s.awaitMember(t, us, "to say that the definition is missing", func(ready, agent metav1.Condition) error {
		if ready.Status != metav1.ConditionFalse || ready.Reason != v1.ReasonAgentMissing || agent.Reason != v1.ReasonAgentMissing ||
			!strings.Contains(ready.Message, "ecommerceapps.ecommerce.io") {
			return errors.New("does not say so")
		}
		return nil
	})
	framework.Apply(t, s.Fleet.Member(us), "config/crd/bases", "config/rbac/spoke")
	s.awaitMember(t, us, "to say that the agent is missing", func(ready, agent metav1.Condition) error {
		if ready.Reason != v1.ReasonAgentMissing || strings.Contains(agent.Message, "CustomResourceDefinition") {
			return errors.New("does not say so")
		}
		return nil
	})
	s.startAgent(t, us)
	s.awaitReady(t, us, v1.ModeAgent)
}

// testSameObjects compares what one shop is made of in both members.
func (s *suite) testSameObjects(t *testing.T) {
	t.Helper()
	framework.CreateNamespace(t, s.Hub, s.shop.Namespace)
	if err := s.Fleet.Hub().Apply(t.Context(), samples.EcommerceApp()); err != nil {
		t.Fatal(err)
	}
	s.AwaitRunning(t, s.shop, euRegion, usRegion)
	for name, mode := range map[string]v1.ManagedByMode{eu: v1.ManagedByHub, us: v1.ManagedByAgent} {
		copied := s.copyIn(t, name)
		if copied.ManagedByMode() != mode || copied.Annotations[v1.RegionAnnotation] == "" || copied.Annotations[v1.ProviderAnnotation] == "" {
			t.Errorf("%s: the copy is managed by %q, want %q, with region and provider: %v", name, copied.ManagedByMode(), mode, copied.Annotations)
		}
	}
	compareObjects(t, s.children(t, eu), s.children(t, us))
}

// testHubRequests looks at every request that the hub made of a member with an agent.
func (s *suite) testHubRequests(t *testing.T) {
	t.Helper()
	log := s.Since(t, framework.Marks{}, s.Fleet.Member(us))
	allowed := map[string]string{
		"ecommerceapps":             "get list watch create patch delete",
		"namespaces":                "get create",
		"nodes":                     "list watch",
		"pods":                      "list", // What they request.
		"ingressclasses":            "list",
		"customresourcedefinitions": "get",
		"leases":                    "get",
		"configmaps":                "get create", // The record.
		"selfsubjectrulesreviews":   "create",
		"selfsubjectaccessreviews":  "create",
		"storageclasses":            "get list watch patch",
		"csidrivers":                "list",
		"":                          "get", // Discovery and version.
	} // Claims and volumes only matter to a Backup or a Restore, and there is none.
	if len(log) == 0 {
		t.Fatal("the hub asked nothing")
	}
	for _, e := range log {
		switch {
		case e.Resource == "persistentvolumeclaims" && e.Namespace == metav1.NamespaceSystem && e.Code == http.StatusForbidden:
			// The dry run by which the hub knows that its account is bounded.
		case e.Subresource != "", !strings.Contains(" "+allowed[e.Resource]+" ", " "+e.Verb+" "):
			t.Errorf("is none of the hub's business: %s", e)
		case e.Code == 403:
			t.Errorf("asks for more than its role allows: %s", e)
		}
	}
	for _, e := range log.Writes() {
		if e.Resource == "namespaces" && e.Name != s.shop.Namespace && e.Name != "" {
			t.Errorf("writes another namespace: %s", e)
		}
		if e.Resource == "configmaps" && e.Namespace+"/"+e.Name != config.Namespace+"/"+config.HubRecord {
			t.Errorf("writes a ConfigMap that is not the record: %s", e)
		}
		if e.Resource == "storageclasses" && !strings.HasPrefix(e.Name, "shopfleet-") {
			t.Errorf("writes a storage class that is not ours: %s", e)
		}
	}
	// One that the namespace or the definition is not ready for yet is refused, and repeated.
	if n := len(log.Writes().Succeeded().Of("ecommerceapps")); n != 1 {
		t.Errorf("the copy was written %d times, want once:\n%s", n, log.Writes())
	}
}

// testRestarts restarts the hub, the agent, and both.
func (s *suite) testRestarts(t *testing.T) {
	t.Helper()
	before := framework.MarkSettled(t, s.Fleet, s.shop.Namespace, config.HubServiceAccount, config.SpokeServiceAccount)
	s.stopAgent[us]()
	s.startAgent(t, us)
	s.canary(t)
	s.StopHub()
	s.StartHub(t)
	s.canary(t)
	framework.Pause(t, 2*longestWait) // A resync of each.
	s.checkUnwritten(t, before)
	for _, e := range s.Since(t, before, s.Fleet.Hub()).Writes().In(s.shop.Namespace) {
		t.Errorf("the hub wrote about a shop that did not change: %s", e)
	}
	for _, name := range []string{eu, us} {
		if classes := s.Since(t, before, s.Fleet.Member(name)).Writes().Of("storageclasses"); len(classes) > 0 {
			t.Errorf("%s: the hub wrote storage classes that did not change:\n%s", name, classes)
		}
	}
	// The canaries came and went: each changes the number of applications twice. What the pods of two
	// members request is summed from time to time, and may have changed since.
	members := s.Since(t, before, s.Fleet.Hub()).Writes().Of("memberclusters").Succeeded()
	if len(members) > 2*2*2+2 {
		t.Errorf("members did not change but for the canaries:\n%s", members)
	}
}

// checkUnwritten checks that neither the hub nor an agent wrote objects of the shop in a member.
func (s *suite) checkUnwritten(t *testing.T, before framework.Marks) {
	t.Helper()
	for _, name := range []string{eu, us} {
		if writes := s.writes(t, before, name).In(s.shop.Namespace); len(writes) > 0 {
			t.Errorf("%s: writes about a shop that did not change:\n%s", name, writes)
		}
	}
}

// canary brings a small shop up and down again, which shows that everyone has been
// through what was there before.
func (s *suite) canary(t *testing.T) {
	t.Helper()
	framework.Canary(t, s.Hub, euRegion, usRegion)
}

// testHubOutage stops the hub, and breaks something in the member with the agent.
func (s *suite) testHubOutage(t *testing.T) {
	t.Helper()
	s.StopHub()
	frontend := s.deleteFrontend(t)
	old := frontend.UID
	framework.Await(t, s.Members[us], frontend, "the frontend to be made again", func(d *appsv1.Deployment) error {
		if d.UID == old || d.Status.ReadyReplicas != *d.Spec.Replicas {
			return fmt.Errorf("%d ready", d.Status.ReadyReplicas)
		}
		return nil
	})
	copied := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: s.shop.Name}}
	framework.Await(t, s.Members[us], copied, "the copy to say so", func(app *v1.EcommerceApp) error {
		if app.Status.Phase != v1.PhaseRunning {
			return fmt.Errorf("is %s", app.Status.Phase)
		}
		return nil
	})
	before := framework.MarkSettled(t, s.Fleet, s.shop.Namespace, config.HubServiceAccount, config.SpokeServiceAccount)
	s.StartHub(t)
	s.canary(t)
	s.AwaitRunning(t, s.shop, euRegion, usRegion)
	s.checkUnwritten(t, before)
}

// testEdit scales the shop on the hub.
func (s *suite) testEdit(t *testing.T) {
	t.Helper()
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(4)) })
	s.AwaitRunning(t, s.shop, euRegion, usRegion)
	if s.shop.Status.Replicas != 4 {
		t.Errorf("status.replicas is %d, want the 4 of each cluster", s.shop.Status.Replicas)
	}
}

// testModeChange moves the shop of the member without an agent to one, and back.
func (s *suite) testModeChange(t *testing.T) {
	t.Helper()
	c := s.Fleet.Member(eu)
	framework.Apply(t, c, "config/crd/bases", framework.AgentManifests, "config/rbac/spoke")
	s.startAgent(t, eu)
	pods, workloads := s.pods(t, eu), s.workloads(t, eu)
	orphan := s.orphan(t)
	for _, mode := range []v1.Mode{v1.ModeAgent, v1.ModeAgentless} {
		before := framework.MarkSettled(t, s.Fleet, s.shop.Namespace, config.HubServiceAccount, config.SpokeServiceAccount)
		if mode == v1.ModeAgentless {
			framework.Apply(t, c, framework.MemberManifests)
		}
		s.setMode(t, eu, mode)
		s.awaitReady(t, eu, mode)
		s.awaitManagedBy(t, mode.ManagedBy(), s.shop)
		s.awaitManagedBy(t, mode.ManagedBy(), orphan)
		if mode == v1.ModeAgent {
			s.revoke(t, eu, config.MemberClusterRole)
		}
		s.canary(t)
		s.AwaitRunning(t, s.shop, euRegion, usRegion)
		s.checkHandover(t, before, mode)
		if now := s.pods(t, eu); now != pods {
			t.Errorf("to %s: pods were %s, are %s", mode, pods, now)
		}
		if now := s.workloads(t, eu); now != workloads {
			t.Errorf("to %s: workloads were %s, are %s", mode, workloads, now)
		}
		s.checkOwner(t, mode)
	}
	s.revoke(t, eu, config.AgentRole)
	s.stopAgent[eu]()
}

// awaitManagedBy waits until a copy in the member that changes its mode is handed over.
func (s *suite) awaitManagedBy(t *testing.T, mode v1.ManagedByMode, app *v1.EcommerceApp) {
	t.Helper()
	copied := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	framework.Await(t, s.Members[eu], copied, app.Name+" to be handed over", func(app *v1.EcommerceApp) error {
		if app.ManagedByMode() != mode {
			return fmt.Errorf("it is managed by %q", app.ManagedByMode())
		}
		return nil
	})
}

// checkHandover checks that a switch took one write, of the copy, by the hub. One that competes with a status of the copy is
// refused, and repeated.
func (s *suite) checkHandover(t *testing.T, before framework.Marks, mode v1.Mode) {
	t.Helper()
	writes := s.writes(t, before, eu).Succeeded().In(s.shop.Namespace).Except("events")
	byHub := s.Since(t, before, s.Fleet.Member(eu)).Writes().Succeeded().In(s.shop.Namespace).Of("ecommerceapps")
	if len(writes) != 1 || len(byHub) != 1 || byHub[0].Subresource != "" {
		t.Errorf("to %s: want one write, of the copy, by the hub:\n%s", mode, writes)
	}
	for _, e := range s.Since(t, before, s.Fleet.Hub()).Writes().In(s.shop.Namespace).Except("events") {
		t.Errorf("to %s: the hub wrote about a shop that did not change: %s", mode, e)
	}
}

// orphan makes a copy as it is left behind where the application was deleted while
// its cluster was out of the fleet.
func (s *suite) orphan(t *testing.T) *v1.EcommerceApp {
	t.Helper()
	orphan := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "canary", Name: "orphan",
			Labels:      map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: eu},
			Annotations: map[string]string{v1.HubAppUIDAnnotation: "gone", v1.HubGenerationAnnotation: "1"},
		},
		Spec: v1.EcommerceAppSpec{Image: "shop:v1"},
	}
	if err := s.Members[eu].Create(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	return orphan
}

// checkOwner breaks something in the member that changed its mode: the right one repairs it.
func (s *suite) checkOwner(t *testing.T, mode v1.Mode) {
	t.Helper()
	before := s.Mark(t)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: s.shop.Name + "-frontend"}}
	stray := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"selector":{%q:"astray"}}}`, v1.InstanceLabel))
	if err := s.Members[eu].Patch(t.Context(), service, stray); err != nil {
		t.Fatal(err)
	}
	framework.Await(t, s.Members[eu], service, "the service to be put right", func(service *corev1.Service) error {
		if to := service.Spec.Selector[v1.InstanceLabel]; to != s.shop.Name {
			return fmt.Errorf("leads to %q", to)
		}
		return nil
	})
	writer, other := config.HubServiceAccount, config.SpokeServiceAccount
	if mode == v1.ModeAgent {
		writer, other = other, writer
	}
	c := s.Fleet.Member(eu)
	n := 0
	// What a write changed may be read before the write is answered and logged.
	read := func() { n = len(before.By(t, c, writer).Writes().Of("services")) }
	framework.Eventually(t, "the write of the service", func(context.Context) error {
		if read(); n == 0 {
			return errors.New("not logged yet")
		}
		return nil
	})
	if n != 1 {
		t.Errorf("%s wrote %d services in mode %s, want one", writer, n, mode)
	}
	children := before.By(t, c, other).Writes().In(s.shop.Namespace)
	if len(children) > 0 {
		t.Errorf("%s wrote in mode %s:\n%s", other, mode, children)
	}
}

// testRefusedModeChange asks for an agent that is not there.
func (s *suite) testRefusedModeChange(t *testing.T) {
	t.Helper()
	before := framework.MarkSettled(t, s.Fleet, s.shop.Namespace, config.HubServiceAccount, config.SpokeServiceAccount)
	framework.Apply(t, s.Fleet.Member(eu), framework.AgentManifests)
	s.setMode(t, eu, v1.ModeAgent)
	s.awaitMember(t, eu, "to say that its agent is silent", func(ready, agent metav1.Condition) error {
		if ready.Status != metav1.ConditionTrue || agent.Status != metav1.ConditionFalse || agent.Reason != v1.ReasonAgentSilent {
			return errors.New("does not")
		}
		return nil
	})
	s.canary(t)
	if mode := s.copyIn(t, eu).ManagedByMode(); mode != v1.ManagedByHub {
		t.Errorf("the copy is managed by %q", mode)
	}
	s.setMode(t, eu, v1.ModeAgentless)
	s.awaitReady(t, eu, v1.ModeAgentless)
	s.checkUnwritten(t, before)
}

// revoke takes a role of the hub away.
func (s *suite) revoke(t *testing.T, name, role string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role}}
	if err := s.Members[name].Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}
