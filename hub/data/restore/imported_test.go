package restore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestWhichClaimsAreImported checks that the claim of data that a Job has opened, and no other one, says that it takes
// any passwords.
func TestWhichClaimsAreImported(t *testing.T) {
	t.Parallel()
	imported := map[string]string{v1.ImportedAnnotation: "true"}
	for name, tt := range map[string]struct {
		volume v1.RestoredVolume
		back   bool
		// uses is the volume that the claim is for.
		uses string
		want map[string]string
	}{
		"nothing was replaced":        {v1.RestoredVolume{PersistentVolume: "pvc-1"}, false, "pvc-1", imported},
		"in the place of another":     {v1.RestoredVolume{PersistentVolume: "pvc-1", Replaced: "pvc-0"}, false, "pvc-1", imported},
		"put back":                    {v1.RestoredVolume{PersistentVolume: "pvc-1", Replaced: "pvc-0"}, true, "pvc-0", nil},
		"made by a hub of before":     {v1.RestoredVolume{PersistentVolume: "shopfleet-r1", Replaced: "pvc-0"}, false, "shopfleet-r1", nil},
		"put back, it was made by it": {v1.RestoredVolume{PersistentVolume: "pvc-1", Replaced: "shopfleet-r1"}, true, "shopfleet-r1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			member := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
				&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: tt.uses}},
			).Build()
			w := situation()
			w.restore.Namespace, w.targetFacts = "prod", &targetFacts{cluster: storage{client: member}}
			tt.volume.Claim = "data-shop-database-0"
			w.restore.Status.Volumes = []v1.RestoredVolume{tt.volume}
			w.restore.Status.Steps = recordOf(time.Unix(1, 0), stepRetire)
			step := w.bindClaims
			if tt.back {
				step = w.returnVolumes
			}
			if result := step(t.Context()); result.Fatal || result.Reason != v1.ReasonCreatingVolumes {
				t.Fatalf("%+v", result)
			}
			claim := &corev1.PersistentVolumeClaim{}
			if err := member.Get(t.Context(), client.ObjectKey{Namespace: "prod", Name: tt.volume.Claim}, claim); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, claim.Annotations); diff != "" || claim.Spec.VolumeName != tt.uses {
				t.Errorf("the claim is for %s, its annotations (-want +got):\n%s", claim.Spec.VolumeName, diff)
			}
		})
	}
}
