package manifests

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

// FieldManager is the server-side apply manager of all that the program writes.
const FieldManager = "shopfleet-cli"

// Action is what was done to an object.
type Action string

// The actions, in kubectl's words.
const (
	Created    Action = "created"
	Configured Action = "configured"
	Unchanged  Action = "unchanged"
	Deleted    Action = "deleted"
)

// Done is what was done to one object, or would be.
type Result struct {
	Object *unstructured.Unstructured
	Action Action
	// DryRun tells that nothing was changed.
	DryRun bool
	// Unchecked tells that the server could not try it in a dry run, since the
	// object's namespace is not there yet.
	Unchecked bool
}

// String is kubectl's: "deployment.apps/shopfleet-hub created".
func (d Result) String() string {
	text := Name(d.Object) + " " + string(d.Action)
	switch {
	case d.Unchecked:
		return text + " (server dry run, not checked: its namespace is not there yet)"
	case d.DryRun:
		return text + " (server dry run)"
	}
	return text
}

// Name is what kubectl calls an object: "deployment.apps/shopfleet-hub".
func Name(object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind()
	return strings.ToLower(schema.GroupKind{Group: kind.Group, Kind: kind.Kind}.String()) + "/" + object.GetName()
}

// Plan is what is installed in a cluster.
type Plan struct {
	// Objects are applied in this order and removed in the opposite one.
	Objects []*unstructured.Unstructured
	// DryRun asks the server and changes nothing.
	DryRun bool
}

// Apply applies the objects and tells the report, which may be nil, what was done
// to each. It stops at the first error; what was applied stays, and applying again
// goes on. The client's requests must have deadlines.
func (p Plan) Apply(ctx context.Context, c client.Client, report func(Result)) error {
	a := applier{client: c, dryRun: p.DryRun, absent: map[string]bool{}}
	var definitions []*unstructured.Unstructured
	for _, object := range p.Objects {
		if object.GetKind() != kindDefinition {
			if err := a.await(ctx, definitions); err != nil {
				return err
			}
			definitions = nil
		}
		done, err := a.apply(ctx, object)
		if err != nil {
			return explain(err)
		}
		if report != nil {
			report(done)
		}
		if object.GetKind() == kindDefinition {
			definitions = append(definitions, object)
		}
	}
	return a.await(ctx, definitions)
}

// explain adds advice where the server's words are not enough.
func explain(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return hint.With(err, "Installing needs an administrator of the cluster: it grants permissions, and nobody may grant "+
			"more than they have. What was applied stays; the same command goes on from there.")
	case apierrors.IsInvalid(err):
		return hint.With(err, "A field of an object that is there already cannot change, or the cluster's Kubernetes is older "+
			"than what is supported. See what would change: kubectl shopfleet install --help, --dry-run=server.")
	}
	return err
}

type applier struct {
	client client.Client
	dryRun bool
	// absent are namespaces that a dry run would have made.
	absent map[string]bool
}

// apply applies one object, unless it is as it should be.
func (a applier) apply(ctx context.Context, object *unstructured.Unstructured) (Result, error) {
	done := Result{Object: object, DryRun: a.dryRun}
	live, err := a.read(ctx, object)
	if err != nil {
		return done, err
	}
	if live != nil && live.GetDeletionTimestamp() != nil && !a.dryRun {
		// What is written to it now would go with it.
		if err := a.gone(ctx, object); err != nil {
			return done, err
		}
		live = nil
	}
	if live == nil {
		done.Action = Created
		if done.Unchecked = a.absent[object.GetNamespace()]; done.Unchecked {
			return done, nil
		}
		if a.dryRun && object.GetKind() == kindNamespace {
			a.absent[object.GetName()] = true
		}
		_, err = a.write(ctx, object, a.dryRun)
		return done, err
	}
	outcome, err := a.write(ctx, object, true)
	if err != nil {
		return done, err
	}
	if done.Action = Unchanged; same(live, outcome) {
		return done, nil
	}
	done.Action = Configured
	if !a.dryRun {
		_, err = a.write(ctx, object, false)
	}
	return done, err
}

// same tells whether an apply would change nothing that is stored. The server sets
// the time of a manager's entry only when it stores something.
func same(live, outcome *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(stored(live), stored(outcome))
}

// stored leaves out what a dry run does not know, and the status: it may change
// between the two answers, and is nobody's intent.
func stored(object *unstructured.Unstructured) map[string]any {
	kept := object.DeepCopy()
	kept.SetResourceVersion("")
	unstructured.RemoveNestedField(kept.Object, "status")
	kept.SetManagedFields(slices.DeleteFunc(kept.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Subresource != ""
	}))
	return kept.Object
}

// read returns the object as it is in the cluster, or nothing.
func (a applier) read(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := empty(object)
	err := a.client.Get(ctx, client.ObjectKeyFromObject(object), live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", Name(object), err)
	}
	return live, nil
}

// write applies the whole intent; fields of other managers in it are taken over.
func (a applier) write(ctx context.Context, object *unstructured.Unstructured, dryRun bool) (*unstructured.Unstructured, error) {
	outcome := object.DeepCopy()
	options := []client.ApplyOption{client.FieldOwner(FieldManager), client.ForceOwnership}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(outcome), options...); err != nil {
		return nil, fmt.Errorf("applying %s: %w", Name(object), err)
	}
	return outcome, nil
}

// empty is an object that has nothing but its kind and name.
func empty(object *unstructured.Unstructured) *unstructured.Unstructured {
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(object.GroupVersionKind())
	bare.SetNamespace(object.GetNamespace())
	bare.SetName(object.GetName())
	return bare
}

const (
	kindDefinition = "CustomResourceDefinition"
	kindNamespace  = "Namespace"
	kindDeployment = "Deployment"
)
