package plan

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testPropagated plans an application that propagates objects, of which the hub has some and may read
// some.
func (s *suite) testPropagated(t *testing.T) {
	t.Helper()
	const namespace = "propagating"
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	framework.CreateNamespace(t, s.Hub, namespace)
	framework.Create(t, s.Hub, &corev1.Secret{ObjectMeta: in("registry"), Data: map[string][]byte{"password": []byte("hidden")}})
	framework.Create(t, s.Hub, &corev1.Secret{ObjectMeta: in("other"), Data: map[string][]byte{"password": []byte("hidden")}})
	framework.Create(t, s.Hub, &rbacv1.Role{ObjectMeta: in("propagate"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, ResourceNames: []string{"registry", "settings"}, Verbs: []string{"get"}},
	}})
	framework.Create(t, s.Hub, &rbacv1.RoleBinding{
		ObjectMeta: in("propagate"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "propagate"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: config.Namespace, Name: config.HubServiceAccount}},
	})
	app := framework.Small(namespace, namespace)
	app.Spec.Placement.ClusterNames = []string{"eu-1"}
	app.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
	framework.Create(t, s.Hub, app)
	s.AwaitRunning(t, app, eu)

	planned := small(namespace, "eu-1")
	planned.Object["spec"].(map[string]any)["propagate"] = []any{
		map[string]any{"kind": "Secret", "name": "registry"},
		map[string]any{"kind": "ConfigMap", "name": "settings"}, map[string]any{"kind": "Secret", "name": "other"},
	}
	o := s.run(t, planned).Want(t, changes, "! ConfigMap/settings is refused: Missing: ", "! Secret/other is refused: Forbidden: ", "2 refuse")
	if strings.Contains(o.Out+o.ErrOut, "+Secret/registry") || strings.Contains(o.Out+o.ErrOut, "hidden") {
		t.Error("the output has an object that does not change, or content")
	}
	framework.Create(t, s.Hub, &corev1.ConfigMap{ObjectMeta: in("settings"), Data: map[string]string{"a": "b"}})
	s.run(t, planned).Want(t, changes, "+ConfigMap/settings", "1 refuse")
	planned.Object["spec"].(map[string]any)["propagate"] = []any{}
	s.run(t, planned).Want(t, changes, "-Secret/registry", "1 delete")
}
