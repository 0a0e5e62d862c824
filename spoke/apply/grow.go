package apply

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Grow requests a larger volume for a claim. If the claim was changed or recreated, the
// API server returns a conflict; if its StorageClass does not allow expansion, it returns
// Forbidden.
func (a *Applier) Grow(ctx context.Context, claim *corev1.PersistentVolumeClaim, size resource.Quantity) error {
	intent := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "PersistentVolumeClaim",
		"metadata": map[string]any{
			"namespace":       claim.Namespace,
			"name":            claim.Name,
			"uid":             string(claim.UID),
			"resourceVersion": claim.ResourceVersion,
		},
		"spec": map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": size.String()}}},
	}}
	return a.send(ctx, intent, client.ForceOwnership)
}
