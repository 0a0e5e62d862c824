package reconciler

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

func secrets(n int) []component.Key {
	var all []component.Key
	for i := range n {
		all = append(all, component.Key{GroupKind: schema.GroupKind{Kind: "Secret"}, Namespace: "shops", Name: fmt.Sprintf("s%d", i)})
	}
	return all
}

func TestDescribeMissing(t *testing.T) {
	t.Parallel()
	const ten = "Secret s0, Secret s1, Secret s2, Secret s3, Secret s4, Secret s5, Secret s6, Secret s7, Secret s8, Secret s9"
	for n, want := range map[int]string{
		1:  "Secret s0 does not exist in this cluster: create it there",
		2:  "Secret s0, Secret s1 do not exist in this cluster: create them there",
		10: ten + " do not exist in this cluster: create them there",
		12: ten + ", and 2 more do not exist in this cluster: create them there",
	} {
		if got := describeMissing(secrets(n), false); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if got := describeMissing(secrets(1), true); got != "Secret s0 does not exist in this cluster: create it there, or list it in spec.propagate" {
		t.Errorf("of a copy: %s", got)
	}
}

// TestReferencesAreForgotten checks that references end with their application, and do not count for another one of
// its name, or when a user asks to look again.
func TestReferencesAreForgotten(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", UID: "u-1"}}
	name := client.ObjectKeyFromObject(app)
	r := newReconciler(Kind[*v1.EcommerceApp]{}, &Member{})
	known := referredObjects{}.of(app)
	known.answers = map[component.Key]answer{secrets(1)[0]: {missing: true}}
	r.memory.of(name).referred = known
	if len(known.of(app).answers) != 1 {
		t.Error("nothing is kept")
	}
	for _, change := range []func(*v1.EcommerceApp){
		func(app *v1.EcommerceApp) { app.UID = "u-2" },
		func(app *v1.EcommerceApp) { app.Annotations = map[string]string{v1.ReconcileAtAnnotation: "now"} },
	} {
		other := app.DeepCopy()
		change(other)
		if got := known.of(other); len(got.answers) != 0 {
			t.Errorf("%+v is known of another application", got)
		}
	}
	r.forget(name)
	if len(r.memory.objects) != 0 {
		t.Errorf("%d applications are known when all is gone", len(r.memory.objects))
	}
}
