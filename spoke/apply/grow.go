package apply

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Grow asks for a larger volume behind a claim. The claim must be the one that
// was seen: another, or a changed one, is a conflict of the API server. A class
// that does not allow expansion is a Forbidden error of the API server.
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
