package hub_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// propagating is the namespace whose Secrets and ConfigMaps are propagated. What their keys contain
// must appear nowhere else, as the suite checks when it ends.
const propagating = "propagating"

// testPropagation follows a Secret and a ConfigMap from the hub to two members.
func (s *suite) testPropagation(t *testing.T) {
	app := framework.Small(propagating, "shop", "eu-1", "us-1")
	app.Spec.Frontend.ImagePullSecrets = []v1.LocalSecretReference{{Name: "registry"}}
	app.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}, {Kind: v1.PropagatedConfigMap, Name: "settings"}}
	framework.CreateNamespace(t, s.Hub, propagating)
	framework.Create(t, s.Hub, confidential("registry", "password-of-the-registry"))
	framework.Create(t, s.Hub, &corev1.ConfigMap{ObjectMeta: inPropagating("settings"), Data: map[string]string{"a": "b"}})
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, us)
	s.awaitPropagated(t, app, metav1.ConditionFalse, v1.ReasonForbidden, "the hub may not read ConfigMap settings, Secret registry")
	for _, name := range []string{"eu-1", "us-1"} {
		if err := framework.Gone(t.Context(), s.Members[name], confidential("registry", "")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.awaitMissing(t, app, "frontend: Secret registry does not exist in this cluster: create it there, or list it in spec.propagate")
	s.allowPropagation(t)
	s.awaitPropagated(t, app, metav1.ConditionTrue, v1.ReasonPropagated, "Secret registry")
	s.awaitMissing(t, app, "")
	s.awaitPassword(t, "registry", "password-of-the-registry", "eu-1", "us-1")

	t.Run("order", s.testPropagatedFirst)
	t.Run("changes", func(t *testing.T) { s.testPropagatedChanges(t, app) })
	t.Run("conflict", func(t *testing.T) { s.testPropagatedConflict(t, app) })

	s.Delete(t, app)
	for _, name := range []string{"eu-1", "us-1"} {
		framework.AwaitGone(t, s.Members[name], confidential("registry", ""))
	}
}

func inPropagating(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: propagating, Name: name}
}

func confidential(name, password string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: inPropagating(name), Data: map[string][]byte{"password": []byte(password)}}
}

// allowPropagation gives the hub the Role that hub/README.md describes.
func (s *suite) allowPropagation(t *testing.T) {
	t.Helper()
	framework.Create(t, s.Hub, &rbacv1.Role{
		ObjectMeta: inPropagating("shopfleet-propagate"),
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get"}}},
	})
	framework.Create(t, s.Hub, &rbacv1.RoleBinding{
		ObjectMeta: inPropagating("shopfleet-propagate"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "shopfleet-propagate"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: config.Namespace, Name: config.HubServiceAccount}},
	})
}

func (s *suite) awaitPropagated(t *testing.T, app *v1.EcommerceApp, status metav1.ConditionStatus, reason, says string) {
	t.Helper()
	found := framework.AwaitCondition(t, s.Hub, app, metav1.Condition{Type: v1.ConditionPropagated, Status: status, Reason: reason})
	if !strings.Contains(found.Message, says) {
		t.Errorf("the condition says %q, want %q", found.Message, says)
	}
}

// awaitMissing blocks until the clusters of an application that runs say what they lack; that they lack
// nothing if it is empty.
func (s *suite) awaitMissing(t *testing.T, app *v1.EcommerceApp, says string) {
	t.Helper()
	framework.AwaitApp(t, s.Hub, app, "what is missing", func(status *v1.EcommerceAppStatus) error {
		for _, c := range status.Clusters {
			if !c.Ready || c.Message != says || (c.Reason == v1.ReasonMissing) != (says != "") {
				return fmt.Errorf("%s: ready %t, %s: %s", c.Name, c.Ready, c.Reason, c.Message)
			}
		}
		return nil
	})
}

// awaitPassword blocks until members have a Secret with a password.
func (s *suite) awaitPassword(t *testing.T, name, password string, members ...string) {
	t.Helper()
	for _, member := range members {
		framework.Await(t, s.Members[member], confidential(name, ""), name+" in "+member, func(found *corev1.Secret) error {
			if string(found.Data["password"]) != password {
				return fmt.Errorf("it has %d keys and another password", len(found.Data))
			}
			return nil
		})
	}
}

// testPropagatedFirst checks that in a member without an agent, the Secret is written with the copy, before the
// workloads that use it, and is read on the hub once for all members.
func (s *suite) testPropagatedFirst(t *testing.T) {
	app := framework.Small(propagating, "ordered", "eu-1", "us-1")
	app.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "ordered"}}
	app.Spec.Frontend.EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.EnvFromReference{Name: "ordered"}}}
	framework.Create(t, s.Hub, confidential("ordered", "password-that-comes-first"))
	before := s.Mark(t)
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, us)
	for _, name := range []string{"eu-1", "us-1"} {
		log := s.Since(t, before, s.Fleet.Member(name)).In(propagating).Writes().Succeeded()
		copied, secrets, workloads := log.Of("ecommerceapps"), log.Of("secrets"), log.Of("deployments")
		if len(copied) == 0 || len(secrets) != 1 || len(workloads) == 0 ||
			secrets[0].Received.Before(copied[0].Received) || workloads[0].Received.Before(secrets[0].Completed) {
			t.Errorf("%s: the Secret was not written once between the copy and the workloads:\n%s", name, log)
		}
	}
	if reads := s.Since(t, before, s.Fleet.Hub()).In(propagating).Verb("get").Of("secrets"); len(reads) == 0 || reads[0].Name == "" {
		t.Errorf("the hub did not read the Secret by its name:\n%s", reads)
	}
	s.Delete(t, app)
}

// testPropagatedChanges changes, removes and restores what is propagated.
func (s *suite) testPropagatedChanges(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	framework.Edit(t, s.Hub, confidential("registry", ""), func(o *corev1.Secret) { o.Data["password"] = []byte("next-password-of-the-registry") })
	s.awaitPassword(t, "registry", "next-password-of-the-registry", "eu-1", "us-1")

	before := framework.MarkSettled(t, s.Fleet, propagating, config.HubServiceAccount)
	framework.Pause(t, 2*longestWait)
	for _, c := range s.Fleet.Clusters() {
		log := s.Since(t, before, c).In(propagating)
		if c == s.Fleet.Hub() {
			if reads := log.Verb("get").Of("secrets"); len(reads) == 0 {
				t.Error("the hub does not read the Secret again")
			}
			log = log.Writes()
		}
		if len(log) > 0 {
			t.Errorf("%s: requests although nothing changed:\n%s", c.Name(), log)
		}
	}

	for _, o := range []client.Object{confidential("registry", ""), &corev1.ConfigMap{ObjectMeta: inPropagating("settings")}} {
		if err := s.Members["eu-1"].Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		framework.Await(t, s.Members["eu-1"], o, o.GetName()+" to be written again", func(client.Object) error { return nil })
	}
	framework.Edit(t, s.Members["us-1"], confidential("registry", ""), func(o *corev1.Secret) { o.Data["password"] = []byte("changed-password-in-a-member") })
	s.awaitPassword(t, "registry", "next-password-of-the-registry", "us-1")

	framework.Delete(t, s.Hub, &corev1.ConfigMap{ObjectMeta: inPropagating("settings")})
	s.awaitPropagated(t, app, metav1.ConditionFalse, v1.ReasonMissing, "does not have ConfigMap settings")
	framework.Await(t, s.Members["eu-1"], &corev1.ConfigMap{ObjectMeta: inPropagating("settings")}, "the ConfigMap to stay", func(*corev1.ConfigMap) error { return nil })
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Propagate = a.Spec.Propagate[:1] })
	s.awaitPropagated(t, app, metav1.ConditionTrue, v1.ReasonPropagated, "Secret registry")
	for _, name := range []string{"eu-1", "us-1"} {
		framework.AwaitGone(t, s.Members[name], &corev1.ConfigMap{ObjectMeta: inPropagating("settings")})
	}
	s.AwaitRunning(t, app, eu, us)
}

// testPropagatedConflict checks that a Secret of a user in one member stays as it is, and the other member gets that
// of the hub. When it is no longer propagated, it is deleted there alone.
func (s *suite) testPropagatedConflict(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	s.ExpectDeletes(invariants.Expected{Cluster: "eu-1", Resource: "secrets", Namespace: propagating, Name: "foreign"})
	framework.Create(t, s.Members["us-1"], confidential("foreign", "password-of-somebody-else"))
	framework.Create(t, s.Hub, confidential("foreign", "password-of-the-hub"))
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) {
		a.Spec.Propagate = append(a.Spec.Propagate, v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "foreign"})
		a.Spec.Image = "shop:v2"
	})
	s.awaitPropagated(t, app, metav1.ConditionFalse, v1.ReasonConflict, "not written in us-1: ")
	s.awaitPassword(t, "foreign", "password-of-the-hub", "eu-1")
	s.awaitPassword(t, "foreign", "password-of-somebody-else", "us-1")
	copied := app.DeepCopy()
	framework.Await(t, s.Members["us-1"], copied, "the copy all the same", func(c *v1.EcommerceApp) error {
		if c.Spec.Image != "shop:v2" {
			return fmt.Errorf("image %s", c.Spec.Image)
		}
		return nil
	})
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Propagate = a.Spec.Propagate[:1] })
	framework.AwaitGone(t, s.Members["eu-1"], confidential("foreign", ""))
	s.awaitPassword(t, "foreign", "password-of-somebody-else", "us-1")
	s.AwaitRunning(t, app, eu, us)
}
