package cli

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testRender prints a spec with overrides, and errors about those that cannot be applied, are not
// valid, or are another user's.
func (s *suite) testRender(t *testing.T) {
	t.Helper()
	render := func(args ...string) framework.Outcome {
		return s.run(t, append([]string{"render", appName, "-n", "production"}, args...)...)
	}
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: appName}}
	override := func(change func(*v1.Override)) {
		framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) {
			app.Spec.Overrides = []v1.Override{{Selector: v1.ClusterCriteria{ClusterNames: []string{"eu-1"}}}}
			change(&app.Spec.Overrides[0])
		})
	}
	// No member has what is overridden.
	override(func(o *v1.Override) { o.Selector.ClusterNames[0], o.Image = "none", "shop:v9" })
	o := render("--member", "eu-1").Want(t, framework.Done, "kind: EcommerceApp", "name: "+appName)
	for _, absent := range []string{"shop:v9", "placement:", "overrides:"} {
		if strings.Contains(o.Out, absent) {
			t.Errorf("the spec for eu-1 has %s:\n%s", absent, o.Out)
		}
	}
	// The application runs in no member of the name.
	s.run(t, "images", "-n", "production").Want(t, framework.Done, "oauth2-proxy", "shopfleet-hub:", "\npostgres:")
	s.run(t, "images", "-A", "--mirror", "mirror.example.com").Want(t, framework.Done, "\tmirror.example.com/library/postgres:")
	s.run(t, "images", "-n", "none", "-o", "name").Want(t, framework.Misused, "must be one of json, yaml")
	render("--member", "eu-1", "-o", "jsonpath={.spec.frontend.replicas}").Want(t, framework.Done, "3")
	render("--member", "none").Want(t, framework.Failed, `MemberCluster "none"`, "kubectl get memberclusters")
	render().Want(t, framework.Misused, "--member is required")
	override(func(o *v1.Override) { o.JSONPatches = []v1.JSONPatch{{Op: "remove", Path: "/none"}} })
	render("--member", "eu-1").Want(t, framework.Failed, "spec.overrides[0].jsonPatches[0]: remove /none: ")
	override(func(o *v1.Override) { o.Frontend.Resources.Limits = v1.AmountsOverride{"mem": {}} })
	render("--member", "eu-1").Want(t, framework.Failed, "validating EcommerceApp", "resources must be cpu, memory")
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) { app.Spec.Overrides = nil })
	s.allow(t, "reader", rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"ecommerceapps", "memberclusters"}, Verbs: []string{"get"}})
	render("--member", "eu-1", "--as", "reader").Want(t, framework.Failed, `cannot create resource "ecommerceapps"`)
	s.run(t, "__complete", "render", "-n", "production", "").Want(t, framework.Done, appName+"\n:4")
	s.AwaitRunning(t, app, "eu-west-1")
}
