package reconciler

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// TestStamped checks that hashes are kept until an input of the rendering changes.
func TestStamped(t *testing.T) {
	t.Parallel()
	app := func() *v1.EcommerceApp {
		return &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shops", Name: "a", UID: "1", Generation: 1, Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"},
		}}
	}
	facts := render.Cluster{Name: "eu-1"}
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp, *render.Cluster)
		kept   bool
	}{
		"nothing":     {func(*v1.EcommerceApp, *render.Cluster) {}, true},
		"status":      {func(a *v1.EcommerceApp, _ *render.Cluster) { a.Status.Phase, a.ResourceVersion = v1.PhaseRunning, "2" }, true},
		"spec":        {func(a *v1.EcommerceApp, _ *render.Cluster) { a.Generation++ }, false},
		"made anew":   {func(a *v1.EcommerceApp, _ *render.Cluster) { a.UID = "2" }, false},
		"labels":      {func(a *v1.EcommerceApp, _ *render.Cluster) { a.Labels["l"] = "2" }, false},
		"annotations": {func(a *v1.EcommerceApp, _ *render.Cluster) { a.Annotations["a"] = "2" }, false},
		"facts":       {func(_ *v1.EcommerceApp, c *render.Cluster) { c.LoginRotation++ }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStamped(app(), facts, []specHash{{1}})
			next, known := app(), facts
			tt.change(next, &known)
			if got := s.of(next, known) != nil; got != tt.kept {
				t.Errorf("kept: %t, want %t", got, tt.kept)
			}
		})
	}
}
