package recovery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func orphan(name string, uid types.UID) v1.EcommerceApp {
	return v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shops", Name: name, UID: uid,
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Local()),
			Annotations:       map[string]string{v1.HubAppUIDAnnotation: "u"},
		},
		Spec: v1.EcommerceAppSpec{Image: "shop:v1"},
	}
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	a, b := orphan("a", "2"), orphan("b", "1")
	full := *b.DeepCopy()
	full.Finalizers, full.ResourceVersion = []string{"f"}, "7"
	full.Annotations["other"] = "annotation"
	full.Status.Phase = v1.PhaseRunning
	waiting := orphan("c", "6")
	data, err := EncodeOrphans(Listed{Orphans: []v1.EcommerceApp{full, a, orphan("d", "no/key")}, Waiting: []v1.EcommerceApp{waiting}})
	if err != nil {
		t.Fatal(err)
	}
	data["3"], data["4"] = "edited", `{"metadata":{"name":"c","uid":"5"}}`
	if diff := cmp.Diff(Listed{Orphans: []v1.EcommerceApp{a, b}, Waiting: []v1.EcommerceApp{waiting}}, DecodeOrphans(data)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}

// TestOrphansFit lists more than a ConfigMap holds.
func TestOrphansFit(t *testing.T) {
	t.Parallel()
	var copies []v1.EcommerceApp
	for n := range 1000 {
		c := orphan(fmt.Sprintf("shop-%04d", n), types.UID(fmt.Sprintf("%036d", n)))
		c.Spec.Ingress.Annotations = map[string]string{"large": strings.Repeat("x", 2000)}
		copies = append(copies, c)
	}
	data, err := EncodeOrphans(Listed{Orphans: copies})
	if err != nil {
		t.Fatal(err)
	}
	listed := DecodeOrphans(data).Orphans
	if n := len(listed); n < 300 || n == len(copies) || size(data) > MaxBytes || listed[n-1].Name != copies[n-1].Name {
		t.Errorf("%d copies of %d bytes are listed", n, size(data))
	}
}
