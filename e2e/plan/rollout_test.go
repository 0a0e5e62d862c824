package plan

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

var errRollout = errors.New("its rollout is not complete")

// testRollout plans an image that would be rolled out region by region. All clusters are listed with it, and
// no revision is stored.
func (s *suite) testRollout(t *testing.T) {
	t.Helper()
	app := framework.Small("rolling", "shop", "eu-1", "us-1")
	app.Spec.Rollout = &v1.Rollout{Order: []string{us}, Soak: &metav1.Duration{}}
	s.Create(t, app)
	s.AwaitApp(t, app, "the first revision to be complete", func(status *v1.EcommerceAppStatus) error {
		if r := status.Rollout; r == nil || r.State != v1.RolloutComplete {
			return fmt.Errorf("%w: %+v", errRollout, r)
		}
		return nil
	})
	planned := func(image string) *unstructured.Unstructured {
		next := framework.Small("rolling", "shop", "eu-1", "us-1")
		next.Spec.Rollout, next.Spec.Image = app.Spec.Rollout, image
		next.SetGroupVersionKind(v1.GroupVersion.WithKind("EcommerceApp"))
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(next)
		if err != nil {
			t.Fatal(err)
		}
		delete(content, "status")
		return &unstructured.Unstructured{Object: content}
	}
	s.run(t, planned("shop:v1")).Want(t, framework.Done)
	found := s.answered(t, planned("shop:v2"))
	want := []v1.PlannedWave{{Clusters: []string{"us-1"}}, {Clusters: []string{"eu-1"}}}
	if diff := cmp.Diff(want, found.Waves); diff != "" {
		t.Errorf("waves (-want +got):\n%s", diff)
	}
	for _, name := range []string{"eu-1", "us-1"} {
		if c := change(t, cluster(t, found, name), "Deployment", "shop-frontend"); c.Action != "Update" {
			t.Errorf("%s: %+v, want an update", name, c)
		}
	}
	stored := &appsv1.ControllerRevisionList{}
	if err := s.Hub.List(t.Context(), stored, client.InNamespace("rolling")); err != nil {
		t.Fatal(err)
	}
	if len(stored.Items) != 1 {
		t.Errorf("%d revisions are stored, want the one of before", len(stored.Items))
	}
	s.Delete(t, app)
}
