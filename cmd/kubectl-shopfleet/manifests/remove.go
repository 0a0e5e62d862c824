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

// Deployments are the Deployments of a plan. They are removed first: a process that
// ends still needs its permissions to hand over its lease.
func (p Plan) Deployments() Plan {
	return p.only(func(kind string) bool { return kind == kindDeployment })
}

// Surroundings are all of a plan but Deployments, namespaces and definitions.
func (p Plan) Surroundings() Plan {
	return p.only(func(kind string) bool {
		return kind != kindDeployment && kind != kindNamespace && kind != kindDefinition
	})
}

// Definitions are the definitions of a plan. With them go all their objects: see CheckUnused.
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

// Remove deletes all objects of the plan, the last one first, and tells the report,
// which may be nil, of those that were there. Deployments are gone when their pods are.
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

// Lease is the lease of a process, which outlives it.
func Lease(namespace, name string) *unstructured.Unstructured {
	lease := &unstructured.Unstructured{}
	lease.SetAPIVersion("coordination.k8s.io/v1")
	lease.SetKind("Lease")
	lease.SetNamespace(namespace)
	lease.SetName(name)
	return lease
}
