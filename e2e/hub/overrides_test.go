package hub_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testOverrides runs an application with other values in one of its clusters, by region and by a
// label that changes. A patch that cannot be applied fails in its cluster alone.
func (s *suite) testOverrides(t *testing.T) {
	app := small("overridden", "eu-1", "us-1")
	app.Spec.Overrides = []v1.Override{
		{Selector: v1.ClusterCriteria{Regions: []string{eu}}, Frontend: v1.WorkloadOverride{Replicas: new(int32(2))}},
		{Selector: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{MatchLabels: map[string]string{"tier": "gold"}}}, ImageRegistry: "mirror.example.com"},
	}
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, us)
	s.awaitCopy(t, "eu-1", app, 2, "")
	s.awaitCopy(t, "us-1", app, 0, "")

	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "us-1"}}
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { metav1.SetMetaDataLabel(&m.ObjectMeta, "tier", "gold") })
	s.awaitCopy(t, "us-1", app, 0, "mirror.example.com")
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { delete(m.Labels, "tier") })
	s.awaitCopy(t, "us-1", app, 0, "")
	s.AwaitRunning(t, app, eu, us)

	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) {
		a.Spec.Image = "shop:v2"
		a.Spec.Overrides[0].JSONPatches = []v1.JSONPatch{{Op: "remove", Path: "/backend/port"}}
	})
	const says = "spec.overrides[0].jsonPatches[0]: remove /backend/port: "
	s.AwaitApp(t, app, "the patch to fail in eu-1 alone", func(status *v1.EcommerceAppStatus) error {
		for _, c := range status.Clusters {
			failed := c.Reason == v1.ReasonInvalidSpec
			if failed != (c.Name == "eu-1") || failed && !strings.Contains(c.Message, says) || !failed && c.AppliedGeneration != app.Generation {
				return fmt.Errorf("%s: %s %q at %d", c.Name, c.Reason, c.Message, c.AppliedGeneration)
			}
		}
		return nil
	})
	s.awaitCopy(t, "eu-1", app, 2, "") // As it was.
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Overrides[0].JSONPatches = nil })
	s.AwaitRunning(t, app, eu, us)
	s.Delete(t, app)
}

// awaitCopy blocks until the copy in a member has a number of replicas of the frontend, where 0 is
// none, and a registry.
func (s *suite) awaitCopy(t *testing.T, member string, app *v1.EcommerceApp, replicas int32, registry string) {
	t.Helper()
	framework.Await(t, s.Members[member], app.DeepCopy(), "the overrides in "+member, func(c *v1.EcommerceApp) error {
		if got := ptr.Deref(c.Spec.Frontend.Replicas, 0); got != replicas || c.Spec.ImageRegistry != registry || len(c.Spec.Overrides) > 0 {
			return fmt.Errorf("replicas %d, registry %q, %d overrides", got, c.Spec.ImageRegistry, len(c.Spec.Overrides))
		}
		return nil
	})
}
