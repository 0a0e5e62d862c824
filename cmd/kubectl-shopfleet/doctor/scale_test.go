package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestUnscalable: applications without a number of frontends of their own are named, and do not fail.
func TestUnscalable(t *testing.T) {
	t.Parallel()
	app := func(name string, change func(*v1.EcommerceAppSpec)) v1.EcommerceApp {
		a := v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name}}
		change(&a.Spec)
		return a
	}
	apps := []v1.EcommerceApp{
		app("of-the-spec", func(s *v1.EcommerceAppSpec) { s.Replicas = new(int32(3)) }),
		app("none", func(*v1.EcommerceAppSpec) {}),
		app("own", func(s *v1.EcommerceAppSpec) { s.Frontend.Replicas = new(int32(0)) }),
		app("autoscaled", func(s *v1.EcommerceAppSpec) { s.Frontend.Autoscaling = &v1.Autoscaling{MinReplicas: 1, MaxReplicas: 2} }),
		app("c", func(*v1.EcommerceAppSpec) {}), app("d", func(*v1.EcommerceAppSpec) {}),
	}
	f := healthy(time.Now())
	f.Unscalable = Unscalable(apps)
	if diff := cmp.Diff([]string{"shops/c", "shops/d", "shops/none", "shops/of-the-spec"}, f.Unscalable); diff != "" {
		t.Fatalf("unscalable (-want +got):\n%s", diff)
	}
	check := f.scale()
	if check.Failed || check.Status != metav1.ConditionFalse {
		t.Errorf("status %s, failed %t; want False, and no failure", check.Status, check.Failed)
	}
	for _, part := range []string{"shops/c, shops/d, shops/none, 1 more", "spec.frontend.replicas"} {
		if !strings.Contains(check.Message, part) {
			t.Errorf("message %q, want %q in it", check.Message, part)
		}
	}
	if want := "kubectl scale ecommerceapp c -n shops --replicas=NUMBER"; !strings.Contains(check.Remedy, want) {
		t.Errorf("remedy %q, want %q in it", check.Remedy, want)
	}
	if f.Unscalable = nil; f.scale().Remedy != "" {
		t.Error("there is a remedy without a problem")
	}
}
