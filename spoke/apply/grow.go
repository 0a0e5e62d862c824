package apply

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Grow requests a larger volume for a claim. If the claim was changed or recreated, the
// API server returns a conflict; if its StorageClass does not allow expansion, it returns
// Forbidden. It is a merge patch, because an apply of the size alone would remove the other
// fields of a claim that was applied as a whole.
func (a *Applier) Grow(ctx context.Context, claim *corev1.PersistentVolumeClaim, size resource.Quantity) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": claim.ResourceVersion},
		"spec":     map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": size.String()}}},
	})
	if err != nil {
		return fmt.Errorf("encoding the size of claim %q: %w", claim.Name, err)
	}
	body := &corev1.PersistentVolumeClaim{}
	body.Namespace, body.Name = claim.Namespace, claim.Name
	if err := a.client.Patch(ctx, body, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(a.manager)); err != nil {
		return fmt.Errorf("expanding claim %q: %w", claim.Name, err)
	}
	return nil
}
