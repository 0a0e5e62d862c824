package join

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestHoldsAfterwards: what an agent or a spoke finalizes keeps its finalizer, and other finalizers stay.
func TestHoldsAfterwards(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		annotations map[string]string
		finalizers  []string
		want        bool
	}{
		"a copy of the hub":           {map[string]string{v1.HubAppUIDAnnotation: "u"}, []string{"a/b", v1.SpokeFinalizer}, true},
		"a copy of the agent":         {map[string]string{v1.HubAppUIDAnnotation: "u", v1.ManagedByModeAnnotation: string(v1.ManagedByAgent)}, []string{v1.SpokeFinalizer}, false},
		"an application of the spoke": {nil, []string{v1.SpokeFinalizer}, false},
		"a finalizer of others":       {map[string]string{v1.HubAppUIDAnnotation: "u"}, []string{"a/b"}, false},
	} {
		app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: tt.annotations, Finalizers: tt.finalizers}}
		if got := holdsAfterwards(app); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
