package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestSlimDefinition checks that the cache keeps the fields of CRDs that updates read, and their identity.
func TestSlimDefinition(t *testing.T) {
	t.Parallel()
	kept := definitions()
	kept.ObjectMeta = metav1.ObjectMeta{
		Name: certificates, UID: "1", ResourceVersion: "2", CreationTimestamp: metav1.NewTime(time.Unix(1000, 0)),
	}
	whole := kept.DeepCopy()
	whole.Generation, whole.Finalizers = 3, []string{"customresourcecleanup.apiextensions.k8s.io"}
	whole.Labels = map[string]string{"app": "cert-manager"}
	whole.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	whole.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	gone := toolscache.DeletedFinalStateUnknown{Key: certificates}
	for name, tt := range map[string]struct{ object, want any }{
		"whole":        {whole, kept},
		"already slim": {kept.DeepCopy(), kept},
		"no metadata":  {gone, gone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := slimDefinition(tt.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what the cache keeps (-want +got):\n%s", diff)
			}
		})
	}
}
