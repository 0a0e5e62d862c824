package apply

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// Scale gives a Deployment a number of pods. Its other fields stay as they were applied. If it was changed
// or recreated, the API server returns a conflict. It is Unchanged if a policy keeps the number as it is.
func (a *Applier) Scale(ctx context.Context, deployment component.Resource, replicas int32) (Outcome, error) {
	body := &appsv1.Deployment{}
	body.Namespace, body.Name = deployment.GetNamespace(), deployment.GetName()
	outcome, err := a.mergeOnce(ctx, body, deployment, map[string]any{
		"metadata": map[string]any{"resourceVersion": deployment.GetResourceVersion()},
		"spec":     map[string]any{"replicas": replicas},
	})
	if err != nil {
		return "", fmt.Errorf("scaling Deployment %q: %w", body.Name, err)
	}
	return outcome, nil
}

// Grow requests a larger volume for a claim. If the claim was changed or recreated, the
// API server returns a conflict; if its StorageClass does not allow expansion, it returns
// Forbidden. It is a merge patch, because an apply of the size alone would remove the other
// fields of a claim that was applied as a whole. It is Unchanged if a policy keeps the size as it is.
func (a *Applier) Grow(ctx context.Context, claim *corev1.PersistentVolumeClaim, size resource.Quantity) (Outcome, error) {
	body := &corev1.PersistentVolumeClaim{}
	body.Namespace, body.Name = claim.Namespace, claim.Name
	outcome, err := a.mergeOnce(ctx, body, claim, map[string]any{
		"metadata": map[string]any{"resourceVersion": claim.ResourceVersion},
		"spec":     map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": size.String()}}},
	})
	if err != nil {
		return "", fmt.Errorf("expanding claim %q: %w", claim.Name, err)
	}
	return outcome, nil
}

// RemoveAnnotation removes an annotation from a claim. If the claim was changed or recreated, the API server returns a
// conflict.
func (a *Applier) RemoveAnnotation(ctx context.Context, claim *corev1.PersistentVolumeClaim, annotation string) error {
	body := &corev1.PersistentVolumeClaim{}
	body.Namespace, body.Name = claim.Namespace, claim.Name
	if err := a.merge(ctx, body, map[string]any{
		"metadata": map[string]any{"resourceVersion": claim.ResourceVersion, "annotations": map[string]any{annotation: nil}},
	}); err != nil {
		return fmt.Errorf("removing the annotation %s of claim %q: %w", annotation, claim.Name, err)
	}
	return nil
}

// mergeOnce sends a merge patch that names the version of a live object, unless the same one changed nothing
// before: admission undoes it.
func (a *Applier) mergeOnce(ctx context.Context, body client.Object, live component.Resource, patch map[string]any) (Outcome, error) {
	sum, err := digest(patch)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	futile := a.futile[live.GetUID()] == sum
	a.mu.Unlock()
	if futile {
		return Unchanged, nil
	}
	if err := a.merge(ctx, body, patch); err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if body.GetResourceVersion() == live.GetResourceVersion() && !a.dryRun {
		a.futile[live.GetUID()] = sum
		return Unchanged, nil
	}
	delete(a.futile, live.GetUID())
	return Updated, nil
}

// merge sends a merge patch of an object.
func (a *Applier) merge(ctx context.Context, object client.Object, patch map[string]any) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	return a.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(a.manager))
}
