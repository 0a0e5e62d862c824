package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

var errAccepted = errors.New("a forged requester is accepted")

// fields splits a dotted path.
func fields(path string) []string { return strings.Split(path, ".") }

func (s *suite) testNoPolicy(t *testing.T) {
	t.Helper()
	s.run(t, manifest(t, nil)).Want(t, framework.Failed, "the hub refuses the plan: PolicyMissing", "kubectl shopfleet install hub")
}

// testForged installs the policy, and creates Plans that name another user, UID or groups.
func (s *suite) testForged(t *testing.T) {
	t.Helper()
	framework.Apply(t, s.Fleet.Hub(), admission)
	me := v1.PlanRequester{Username: "mallory", Groups: []string{"system:authenticated"}}
	mallory := s.as(t, "mallory", rbacv1.PolicyRule{APIGroups: []string{v1.GroupName}, Resources: []string{"plans"}, Verbs: []string{"create", "get", "delete"}})
	for name, forge := range map[string]func(*v1.PlanRequester){
		"username": func(r *v1.PlanRequester) { r.Username = "admin" },
		"uid":      func(r *v1.PlanRequester) { r.UID = "1" },
		"groups":   func(r *v1.PlanRequester) { r.Groups = append(r.Groups, "system:masters") },
		"order":    func(r *v1.PlanRequester) { r.Groups = nil },
	} {
		forged := me
		forge(&forged)
		framework.Eventually(t, "a Plan with another "+name+" to be rejected", func(ctx context.Context) error {
			err := mallory.Create(ctx, created(t, "forged", forged), client.DryRunAll)
			if !apierrors.IsForbidden(err) {
				return errors.Join(err, errAccepted)
			}
			return nil
		})
	}
	if err := mallory.Create(t.Context(), created(t, "honest", me), client.DryRunAll); err != nil {
		t.Errorf("the own name is rejected: %v", err)
	}
}

// as returns a client of a user with permissions.
func (s *suite) as(t *testing.T, user string, rules ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	meta := metav1.ObjectMeta{Name: user}
	framework.Create(t, s.Hub, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules})
	framework.Create(t, s.Hub, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
	config := s.Fleet.Hub().AdminConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(config, client.Options{Scheme: s.Hub.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// testForbidden creates a Plan as a user who may create Plans and no EcommerceApps. The hub deletes it
// after a while.
func (s *suite) testForbidden(t *testing.T) {
	t.Helper()
	eve := s.as(t, "eve", rbacv1.PolicyRule{APIGroups: []string{v1.GroupName}, Resources: []string{"plans"}, Verbs: []string{"create"}})
	plan := created(t, "forbidden", v1.PlanRequester{Username: "eve", Groups: []string{"system:authenticated"}})
	framework.Eventually(t, "the permission of eve", func(ctx context.Context) error { return eve.Create(ctx, plan) })
	framework.Await(t, s.Hub, plan, "the Plan to be refused", func(p *v1.Plan) error {
		if c := framework.Condition(p.Status.Conditions, v1.ConditionReady); c.Reason != v1.ReasonForbidden || len(p.Status.Clusters) > 0 {
			return fmt.Errorf("%+v", p.Status)
		}
		return nil
	})
	framework.AwaitGone(t, s.Hub, plan)
	s.run(t, manifest(t, nil), "--as", "eve").Want(t, framework.Failed, "cannot")
}

func (s *suite) testInvalid(t *testing.T) {
	t.Helper()
	s.run(t, manifest(t, map[string]any{"spec.replicas": int64(-1)})).Want(t, framework.Failed, "spec.replicas")
	s.run(t, manifest(t, map[string]any{"spec.replica": int64(1)})).Want(t, framework.Failed, "unknown field")
}

// testNew plans a new application, with namespaces that members lack, and creates it.
func (s *suite) testNew(t *testing.T) {
	t.Helper()
	s.run(t, manifest(t, nil)).Want(t, changes, "+EcommerceApp/"+s.shop.Name, "Joins", "+Namespace/production", "No placement: runs in all 2 ready clusters.", "runs in every ready cluster of the fleet")
	status := s.answered(t, manifest(t, nil))
	if status.Application == nil || status.Application.Action != "Create" || len(status.Waves) != 1 || len(status.Waves[0].Clusters) != 2 {
		t.Errorf("%+v", status)
	}
	for _, name := range []string{"eu-1", "us-1"} {
		c := cluster(t, status, name)
		if c.Decision != "Chosen" || c.Move != v1.PlannedJoins || c.Unknown != "" || c.Counts.Create < 20 || int(c.Counts.Create) != len(c.Changes) {
			t.Errorf("%s: %+v", name, c)
		}
		for kind, object := range map[string]string{
			"Namespace": "production", "EcommerceApp": s.shop.Name, "StatefulSet": s.shop.Name + "-database", "Ingress": s.shop.Name + "-ingress",
			"Deployment": s.shop.Name + "-backend", "Secret": s.shop.Name + "-database-login",
		} {
			if found := change(t, c, kind, object); found.Action != "Create" {
				t.Errorf("%s: %+v", name, found)
			}
		}
		if !s.missing(t, name, "production") {
			t.Errorf("%s has the namespace", name)
		}
	}
	if err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(s.shop), &v1.EcommerceApp{}); !apierrors.IsNotFound(err) {
		t.Errorf("the application on the hub: %v", err)
	}
	// In a namespace that exists the API servers answer, and agree.
	for _, name := range []string{"eu-1", "us-1"} {
		framework.CreateNamespace(t, s.Members[name], "production")
	}
	asked := s.answered(t, manifest(t, nil))
	for _, name := range []string{"eu-1", "us-1"} {
		if got, want := cluster(t, asked, name).Counts, cluster(t, status, name).Counts; got.Create != want.Create-1 || got.Refuse != 0 {
			t.Errorf("%s: %+v in a namespace that exists, and %+v before: %+v", name, got, want, cluster(t, asked, name))
		}
	}
	if err := s.Hub.Create(t.Context(), manifest(t, nil)); err != nil {
		t.Fatal(err)
	}
	s.AwaitRunning(t, s.shop, eu, us)
}

func (s *suite) testUnchanged(t *testing.T) {
	t.Helper()
	check := s.untouched(t)
	s.run(t, manifest(t, nil)).Want(t, framework.Done, "No changes in clusters.")
	s.run(t, manifest(t, nil), "--server-side", "--force-conflicts").Want(t, framework.Done)
	check()
}

// testNarrow plans an application that does not change, in fewer regions than the spec asks for.
func (s *suite) testNarrow(t *testing.T) {
	t.Helper()
	framework.CreateNamespace(t, s.Hub, "narrow")
	narrow := small("narrow", "eu-1")
	spread := []any{map[string]any{"topology": "region", "minDomains": int64(2)}}
	if err := unstructured.SetNestedSlice(narrow.Object, spread, "spec", "placement", "spread"); err != nil {
		t.Fatal(err)
	}
	framework.Create(t, s.Hub, narrow.DeepCopy())
	s.AwaitRunning(t, framework.Small("narrow", "narrow"), eu)
	status := s.answered(t, narrow)
	if none := (v1.ChangeCounts{}); status.Counts.Changes != none || status.Counts.Unknown > 0 || status.Application != nil || status.Problem == "" {
		t.Errorf("%+v", status)
	}
	s.run(t, narrow).Want(t, changes, "The placement would not be as the spec says")
	s.Delete(t, framework.Small("narrow", "narrow"))
}

func (s *suite) testImage(t *testing.T) {
	t.Helper()
	check := s.untouched(t)
	edited := manifest(t, map[string]any{"spec.backend.image": "ecommerce-backend:v3"})
	status := s.answered(t, edited)
	for _, name := range []string{"eu-1", "us-1"} {
		c := cluster(t, status, name)
		if c.Counts.Create+c.Counts.Delete+c.Counts.Recreate+c.Counts.Refuse > 0 || c.Move != "" {
			t.Errorf("%s: %+v", name, c)
		}
		image := "spec.template.spec.containers[backend].image: ecommerce-backend:v2.0.0 -> ecommerce-backend:v3"
		if found := change(t, c, "Deployment", s.shop.Name+"-backend"); found.Action != "Update" || !strings.Contains(strings.Join(found.Fields, "\n"), image) {
			t.Errorf("%s: %+v", name, found)
		}
		change(t, c, "EcommerceApp", s.shop.Name)
	}
	// An upgrade of the database waits for a backup, and is planned all the same.
	status = s.answered(t, manifest(t, map[string]any{"spec.database.version": "13.5"}))
	if found := change(t, cluster(t, status, "eu-1"), "StatefulSet", s.shop.Name+"-database"); !strings.Contains(strings.Join(found.Fields, "\n"), "13.4 -> ") {
		t.Errorf("%+v", found)
	}
	check()
}

// testImmutable plans a larger database: its StatefulSet is replaced, if the class lets claims grow.
func (s *suite) testImmutable(t *testing.T) {
	t.Helper()
	check := s.untouched(t)
	status := s.answered(t, manifest(t, map[string]any{"spec.database.storage": "200Gi"}))
	c := cluster(t, status, "eu-1")
	if found := change(t, c, "PersistentVolumeClaim", "data-"+s.shop.Name+"-database-0"); found.Action != "Expand" {
		t.Errorf("%+v", found)
	}
	if found := change(t, c, "StatefulSet", s.shop.Name+"-database"); found.Action != "Recreate" {
		t.Errorf("%+v", found)
	}
	check()
	s.run(t, manifest(t, map[string]any{"spec.database.storage": "1Gi"})).Want(t, framework.Failed, "storage")
}

// testConflict plans an application of which one child exists, and is another's.
func (s *suite) testConflict(t *testing.T) {
	t.Helper()
	framework.Create(t, s.Members["eu-1"], &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "taken", Name: "taken-frontend"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	})
	framework.CreateNamespace(t, s.Hub, "taken")
	s.run(t, small("taken", "eu-1")).Want(t, changes, "! Service/taken-frontend is refused: Conflict", "NameNotListed")
}

// testMove leaves one of two clusters, and moves an application from one to the other.
func (s *suite) testMove(t *testing.T) {
	t.Helper()
	check := s.untouched(t)
	status := s.answered(t, manifest(t, map[string]any{"spec.placement.clusterNames": []any{"us-1"}}))
	if c := cluster(t, status, "eu-1"); c.Decision != "Rejected" || c.Move != v1.PlannedLeaves || c.Reason != v1.ReasonNameNotListed || c.Counts.Delete < 10 {
		t.Errorf("%+v", c)
	}
	if c := cluster(t, status, "us-1"); c.Decision != "Chosen" || c.Move != "" || len(c.Changes) > 0 {
		t.Errorf("%+v", c)
	}
	check()

	framework.Create(t, s.Hub, small("moving", "eu-1"))
	s.AwaitRunning(t, framework.Small("moving", "moving"), eu)
	status = s.answered(t, small("moving", "us-1"))
	if c := cluster(t, status, "eu-1"); c.Decision != "Stays" || c.Move != v1.PlannedLeaves || c.Reason != v1.ReasonReplacementPending || len(c.Changes) > 0 {
		t.Errorf("%+v", c)
	}
	if c := cluster(t, status, "us-1"); c.Decision != "Chosen" || c.Move != v1.PlannedJoins || c.Counts.Create < 5 {
		t.Errorf("%+v", c)
	}
}

// testDenied plans an application of which a policy of the member denies a child.
func (s *suite) testDenied(t *testing.T) {
	t.Helper()
	framework.CreateNamespace(t, s.Hub, "denied")
	framework.CreateNamespace(t, s.Members["eu-1"], "denied")
	lift := fleettest.Deny(t, s.Members["eu-1"], &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "denied", Name: "trial"}})
	defer lift()
	o := s.run(t, small("denied", "eu-1")).Want(t, changes, "! ConfigMap/denied-frontend-", " is refused: InvalidSpec: ", fleettest.Denial)
	o.Want(t, changes, "+Deployment/denied-frontend", "1 refuse")
}

// small returns an application that is a frontend in a cluster, in a namespace of its name.
func small(name, cluster string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": name, "name": name},
		"spec":     map[string]any{"image": "shop:v1", "placement": map[string]any{"clusterNames": []any{cluster}}},
	}}
	object.SetGroupVersionKind(v1.GroupVersion.WithKind("EcommerceApp"))
	return object
}

// testPaused plans in a member that is paused, to which only dry runs are sent.
func (s *suite) testPaused(t *testing.T) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { m.Spec.Paused = true })
	defer func() {
		framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { m.Spec.Paused = false })
		framework.AwaitCondition(t, s.Hub, member, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonConnected})
		s.AwaitRunning(t, s.shop, eu, us)
	}()
	framework.AwaitCondition(t, s.Hub, member, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonPaused})
	edits := map[string]any{"spec.backend.image": "ecommerce-backend:v3", "spec.database.storage": "200Gi"}
	status := s.answered(t, manifest(t, edits))
	if c := cluster(t, status, "eu-1"); !c.Paused || c.Unknown != "" {
		t.Errorf("%+v", c)
	}
	if found := change(t, cluster(t, status, "eu-1"), "Deployment", s.shop.Name+"-backend"); found.Action != "Update" {
		t.Errorf("%+v", found)
	}
	if found := change(t, cluster(t, status, "eu-1"), "StatefulSet", s.shop.Name+"-database"); found.Action != "Recreate" {
		t.Errorf("%+v", found)
	}
}

// testHanging plans while a member that is connected no longer answers: the others are planned, and the
// answer comes by the deadline.
func (s *suite) testHanging(t *testing.T) {
	t.Helper()
	api := s.Fleet.Member("us-1")
	if err := api.Freeze(t.Context(), fleet.APIServer); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := api.Thaw(t.Context(), fleet.APIServer); err != nil {
			t.Error(err)
		}
		s.AwaitMembers(t, "us-1")
		s.AwaitRunning(t, s.shop, eu, us)
	}()
	edited := manifest(t, map[string]any{"spec.backend.image": "ecommerce-backend:v3"})
	status := s.answered(t, edited, "us-1")
	if c := cluster(t, status, "us-1"); c.Unknown != v1.ReasonClusterUnreachable || c.UnknownMessage == "" {
		t.Errorf("%+v", c)
	}
	if c := cluster(t, status, "eu-1"); c.Unknown != "" || c.Counts.Update != 7 {
		t.Errorf("%+v", c)
	}
}

func (s *suite) testUnreachable(t *testing.T) {
	t.Helper()
	api := s.Fleet.Member("us-1")
	if err := api.Kill(t.Context(), fleet.APIServer); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := api.Restart(t.Context()); err != nil {
			t.Error(err)
		}
		s.AwaitMembers(t, "us-1")
		s.AwaitRunning(t, s.shop, eu, us)
	}()
	framework.AwaitCondition(t, s.Hub, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "us-1"}},
		metav1.Condition{Type: v1.ConditionConnected, Status: metav1.ConditionFalse})
	edited := manifest(t, map[string]any{"spec.backend.image": "ecommerce-backend:v3"})
	s.run(t, edited).Want(t, changes, "? not known: ClusterUnreachable: ")
	status := s.answered(t, edited, "us-1")
	if c := cluster(t, status, "us-1"); c.Unknown != v1.ReasonClusterUnreachable || c.UnknownMessage == "" || len(c.Changes) > 0 {
		t.Errorf("%+v", c)
	}
	change(t, cluster(t, status, "eu-1"), "Deployment", s.shop.Name+"-backend")
	if status.Counts.Unknown != 1 {
		t.Errorf("%d clusters are unknown", status.Counts.Unknown)
	}
	// Without changes elsewhere it is not known either that there are none.
	status = s.answered(t, manifest(t, nil), "us-1")
	if none := (v1.ChangeCounts{}); status.Counts.Changes != none || status.Counts.Unknown != 1 || status.Application != nil {
		t.Errorf("%+v", status.Counts)
	}
}

// testInterrupted presses Ctrl-C while no hub runs: the Plan is deleted all the same.
func (s *suite) testInterrupted(t *testing.T) {
	t.Helper()
	s.StopHub()
	defer s.StartHub(t)
	session := framework.Session{StopAt: "waiting for the hub to plan"}
	session.CLI(t, s.Fleet.Hub(), "plan", "-f", file(t, manifest(t, nil))).Want(t, framework.Stopped)
	s.checkNoPlans(t)
	s.run(t, manifest(t, nil), "--timeout", "1s").Want(t, framework.NotReady, "timed out after 1s", "kubectl shopfleet doctor")
	s.checkNoPlans(t)
}
