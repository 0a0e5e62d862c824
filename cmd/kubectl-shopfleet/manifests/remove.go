package manifests

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// Remove deletes the objects of the plan in reverse order, and reports those that
// existed; report may be nil. A Deployment is gone when its pods are.
func (p Plan) Remove(ctx context.Context, c client.Client, report func(Result)) error {
	options := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationForeground)}
	if p.DryRun {
		options = append(options, client.DryRunAll)
	}
	for _, object := range slices.Backward(p.Objects) {
		err := c.Delete(ctx, empty(object), options...)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			continue
		case err != nil:
			return fmt.Errorf("deleting %s: %w", Name(object), err)
		case report != nil:
			report(Result{Object: object, Action: Deleted, DryRun: p.DryRun})
		}
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
