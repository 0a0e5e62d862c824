package members_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

func (e *suite) testApps(t *testing.T) {
	e.awaitGone(t)
	e.register(t, "eu-1", e.kubeconfig(t, e.Member("eu-1")))
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"}, Spec: shop(t)}
	if err := e.hub.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	place := func(clusters ...v1.ClusterStatus) {
		t.Helper()
		before := app.DeepCopy()
		app.Status.Clusters = clusters
		if err := e.hub.Status().Patch(t.Context(), app, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	counted := func(want int32) {
		t.Helper()
		fleettest.Eventually(t, fmt.Sprintf("%d applications", want), func(ctx context.Context) error {
			m, err := e.member(ctx, "eu-1")
			if err == nil && m.Status.Apps != want {
				err = fmt.Errorf("status says %d", m.Status.Apps)
			}
			return err
		})
	}
	place(v1.ClusterStatus{Name: "eu-1"}, v1.ClusterStatus{Name: "elsewhere"})
	counted(1)
	place(v1.ClusterStatus{Name: "elsewhere"})
	counted(0)
	place(v1.ClusterStatus{Name: "eu-1"})
	counted(1)
	e.delete(t, app)
	counted(0)
}

// shop is the spec of the sample.
func shop(t *testing.T) v1.EcommerceAppSpec {
	t.Helper()
	raw, err := os.ReadFile("../../config/samples/ecommerceapp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	app := &v1.EcommerceApp{}
	if err := yaml.Unmarshal(raw, app); err != nil {
		t.Fatal(err)
	}
	return app.Spec
}
