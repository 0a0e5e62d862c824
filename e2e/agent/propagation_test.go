package agent_test

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
)

// testPropagation checks that the hub may write a Secret beside a copy in a member with an agent once a Role there
// allows it, and the copy does not wait for that.
func (s *suite) testPropagation(t *testing.T) {
	t.Helper()
	app := framework.Small("propagating", "shop", us)
	app.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
	meta := metav1.ObjectMeta{Namespace: app.Namespace, Name: "registry"}
	framework.CreateNamespace(t, s.Hub, app.Namespace)
	framework.Create(t, s.Hub, &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"password": []byte("password-of-the-registry")}})
	s.allowSecrets(t, s.Hub, app.Namespace, "get")
	s.Create(t, app)
	found := framework.AwaitCondition(t, s.Hub, app, metav1.Condition{Type: v1.ConditionPropagated, Status: metav1.ConditionFalse, Reason: v1.ReasonForbidden})
	if !strings.Contains(found.Message, "not written in "+us) {
		t.Errorf("the condition says %q, want the member", found.Message)
	}
	framework.Await(t, s.Members[us], app.DeepCopy(), "the copy to run", func(c *v1.EcommerceApp) error {
		if c.Status.Phase != v1.PhaseRunning {
			return fmt.Errorf("phase %s", c.Status.Phase)
		}
		return nil
	})
	s.allowSecrets(t, s.Members[us], app.Namespace, "get", "create", "patch", "delete")
	framework.AwaitCondition(t, s.Hub, app, metav1.Condition{Type: v1.ConditionPropagated, Status: metav1.ConditionTrue})
	framework.Await(t, s.Members[us], &corev1.Secret{ObjectMeta: meta}, "the Secret", func(o *corev1.Secret) error {
		if string(o.Data["password"]) != "password-of-the-registry" {
			return fmt.Errorf("%d keys", len(o.Data))
		}
		return nil
	})
	s.AwaitRunning(t, app, usRegion)
	s.Delete(t, app)
	framework.AwaitGone(t, s.Members[us], &corev1.Secret{ObjectMeta: meta})
}

// allowSecrets gives the hub a Role in a namespace, as hub/README.md describes it.
func (s *suite) allowSecrets(t *testing.T, c client.Client, namespace string, verbs ...string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "shopfleet-propagate"}
	framework.Create(t, c, &rbacv1.Role{
		ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: verbs}},
	})
	framework.Create(t, c, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: config.Namespace, Name: config.HubServiceAccount}},
	})
}
