package members_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

func (s *suite) testApps(t *testing.T) {
	s.awaitGone(t)
	s.register(t, "eu-1", s.kubeconfig(t, s.Member("eu-1")))
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"}, Spec: apitest.Seed().Spec}
	if err := s.hub.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	place := func(clusters ...v1.ClusterStatus) {
		t.Helper()
		before := app.DeepCopy()
		app.Status.Clusters = clusters
		if err := s.hub.Status().Patch(t.Context(), app, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	counted := func(want int32) {
		t.Helper()
		m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
		framework.Await(t, s.hub, m, fmt.Sprintf("%d applications", want), func(m *v1.MemberCluster) error {
			if m.Status.Apps != want {
				return fmt.Errorf("status says %d", m.Status.Apps)
			}
			return nil
		})
	}
	place(v1.ClusterStatus{Name: "eu-1"}, v1.ClusterStatus{Name: "elsewhere"})
	counted(1)
	place(v1.ClusterStatus{Name: "elsewhere"})
	counted(0)
	place(v1.ClusterStatus{Name: "eu-1"})
	counted(1)
	s.delete(t, app)
	counted(0)
}
