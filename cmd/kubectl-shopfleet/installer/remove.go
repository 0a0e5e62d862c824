package installer

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Deployments returns the Deployments of a plan. They are removed first: a controller
// that stops needs its permissions to release its Lease.
func (p Plan) Deployments() Plan {
	return p.only(func(kind string) bool { return kind == kindDeployment })
}

// Surroundings returns all objects but Deployments, namespaces and CRDs.
func (p Plan) Surroundings() Plan {
	return p.only(func(kind string) bool {
		return kind != kindDeployment && kind != kindNamespace && kind != kindDefinition
	})
}

// Definitions returns the CRDs of a plan. Deleting them deletes all their objects: see CheckUnused.
func (p Plan) Definitions() Plan {
	return p.only(func(kind string) bool { return kind == kindDefinition })
}

func (p Plan) only(of func(kind string) bool) Plan {
	kept := Plan{DryRun: p.DryRun}
	for _, object := range p.Objects {
		if of(object.GetKind()) {
			kept.Objects = append(kept.Objects, object)
		}
	}
	return kept
}

// Reversed returns the plan in the order in which its objects are removed.
func (p Plan) Reversed() Plan {
	p.Objects = slices.Clone(p.Objects)
	slices.Reverse(p.Objects)
	return p
}

// Remove deletes the objects of the plan in reverse order, and reports those that
// existed. A Deployment is gone when its pods are. Other objects are gone
// at once: an installation that follows must not change one that is about to go.
func (p Plan) Remove(ctx context.Context, c client.Client, report func(Result) error) error {
	for _, object := range slices.Backward(p.Objects) {
		err := p.unprotect(ctx, c, object)
		if err == nil {
			err = c.Delete(ctx, empty(object), p.deletion(object)...)
		}
		switch {
		case p.DryRun && apierrors.IsForbidden(err) && object.GetKind() == kindDefinition:
			// Only the removal of its protection, which a dry run does not store, is missing.
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			continue
		case err != nil:
			return fmt.Errorf("deleting %s: %w", Name(object), err)
		}
		if err := report(Result{Object: object, Action: Deleted, DryRun: p.DryRun}); err != nil {
			return err
		}
	}
	return nil
}

// deletion returns the options to delete an object with. In the foreground, the garbage
// collector completes the deletion some time after the request.
func (p Plan) deletion(object *unstructured.Unstructured) []client.DeleteOption {
	policy := metav1.DeletePropagationBackground
	if object.GetKind() == kindDeployment {
		policy = metav1.DeletePropagationForeground
	}
	options := []client.DeleteOption{client.PropagationPolicy(policy)}
	if p.DryRun {
		options = append(options, client.DryRunAll)
	}
	return options
}

// unprotect removes the protection of a CRD from deletion, which its manifest has.
func (p Plan) unprotect(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	if object.GetKind() != kindDefinition {
		return nil
	}
	var options []client.PatchOption
	if p.DryRun {
		options = append(options, client.DryRunAll)
	}
	patch := []byte(`{"metadata":{"annotations":{"` + v1.DeletionProtectionAnnotation + `":null}}}`)
	err := c.Patch(ctx, empty(object), client.RawPatch(types.MergePatchType, patch), options...)
	if err != nil {
		return fmt.Errorf("removing the protection: %w", err)
	}
	return nil
}

// Lease returns the Lease of a leader election, which no manifest has.
func Lease(namespace, name string) *unstructured.Unstructured {
	lease := &unstructured.Unstructured{}
	lease.SetAPIVersion("coordination.k8s.io/v1")
	lease.SetKind("Lease")
	lease.SetNamespace(namespace)
	lease.SetName(name)
	return lease
}
