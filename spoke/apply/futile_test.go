package apply

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stubborn is a client whose API server answers patches with the object as it is, or with a newer one.
type stubborn struct {
	client.Client
	answer  string
	patches int
}

func (s *stubborn) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	s.patches++
	object.SetResourceVersion(s.answer)
	return nil
}

// TestFutilePatches checks that a claim whose size a policy keeps is not patched in each pass, and that it is
// tried again when it changes or another size is wanted.
func TestFutilePatches(t *testing.T) {
	t.Parallel()
	server := &stubborn{answer: "1"}
	applier := New(Options{Client: server})
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data", UID: "a", ResourceVersion: "1"},
	}
	for _, step := range []struct {
		version, size, answer string
		outcome               Outcome
		patches               int
	}{
		{"1", "20Gi", "1", Unchanged, 1},
		{"1", "20Gi", "1", Unchanged, 1},
		{"1", "30Gi", "1", Unchanged, 2},
		{"2", "30Gi", "2", Unchanged, 3},
		{"2", "30Gi", "2", Unchanged, 3},
		{"3", "30Gi", "4", Updated, 4},
		{"3", "30Gi", "4", Updated, 5},
	} {
		claim.ResourceVersion, server.answer = step.version, step.answer
		outcome, err := applier.Grow(t.Context(), claim, resource.MustParse(step.size))
		if err != nil || outcome != step.outcome || server.patches != step.patches {
			t.Errorf("version %s to %s: %s after %d patches, %v; want %s after %d", step.version, step.size, outcome, server.patches, err, step.outcome, step.patches)
		}
	}
}
