package installer

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
	"github.com/shopfleet/shopfleet/hub/members/crds"
)

// FieldManager is the field manager of everything that the program applies.
const FieldManager = "shopfleet-cli"

// Action represents a change that Apply or Remove made to an object.
type Action string

// The actions are named as kubectl names them.
const (
	Created    Action = "created"
	Configured Action = "configured"
	Unchanged  Action = "unchanged"
	Deleted    Action = "deleted"
	// Kept is the action on a CRD that is newer than the one to apply.
	Kept Action = "kept"
)

// Result represents the change of one object; a dry run only predicts it.
type Result struct {
	Object *unstructured.Unstructured
	Action Action
	// DryRun is set if nothing was changed.
	DryRun bool
	// Local is set if no request was sent: a client dry run.
	Local bool
	// Unchecked is set if the server could not validate the object in a dry run, because
	// its namespace does not exist yet.
	Unchecked bool
}

// String returns what kubectl prints: "deployment.apps/shopfleet-hub created".
func (r Result) String() string { return Name(r.Object) + " " + r.Operation() }

// Operation returns what kubectl prints after the name of an object: "created (dry run)".
func (r Result) Operation() string {
	text := string(r.Action)
	switch {
	case r.Action == Kept:
		return text + " (it is of a newer release)"
	case r.Local:
		return text + " (dry run)"
	case r.Unchecked:
		return text + " (server dry run, not validated: its namespace does not exist yet)"
	case r.DryRun:
		return text + " (server dry run)"
	}
	return text
}

// Name returns the name of an object for kubectl: "deployment.apps/shopfleet-hub".
func Name(object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind()
	return strings.ToLower(schema.GroupKind{Group: kind.Group, Kind: kind.Kind}.String()) + "/" + object.GetName()
}

// Plan is a list of objects to apply or to remove.
type Plan struct {
	// Objects are applied in this order and removed in reverse.
	Objects []*unstructured.Unstructured
	// DryRun sends dry-run requests only.
	DryRun bool
	// inventory is the list of the objects, or nil; see WithInventory.
	inventory *unstructured.Unstructured
}

// Preview reports an action for each object without a request, in the order in which the
// objects are applied.
func (p Plan) Preview(action Action, report func(Result) error) error {
	for _, object := range p.Objects {
		if err := report(Result{Object: object, Action: action, Local: true}); err != nil {
			return err
		}
	}
	return nil
}

// Apply applies the objects, prunes those of a former version if the plan has an inventory,
// and reports what was done to each, with the object as the server has it. It stops at the first error, and continues there when it is called again. The
// requests of the client must have deadlines.
func (p Plan) Apply(ctx context.Context, c client.Client, report func(Result) error) error {
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
		if err := report(done); err != nil {
			return err
		}
		if object.GetKind() == kindDefinition {
			definitions = append(definitions, object)
		}
	}
	if err := a.await(ctx, definitions); err != nil || p.inventory == nil {
		return err
	}
	// Before the inventory is replaced: an interrupted run is continued by the next one.
	if err := p.Prune(ctx, c, report); err != nil {
		return explain(err)
	}
	done, err := a.apply(ctx, p.inventory)
	if err != nil {
		return explain(err)
	}
	return report(done)
}

// explain adds a hint to errors of the API server.
func explain(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return hint.With(err, "You must be an administrator of the cluster, because you can only grant permissions that you have. "+
			"Run the same command again with other credentials; it continues where it stopped.")
	case apierrors.IsInvalid(err):
		return hint.With(err, "An existing object has a field that cannot be changed, or the version of Kubernetes is not supported. "+
			"See what would change: add --dry-run=server to the command.")
	}
	return err
}

type applier struct {
	client client.Client
	dryRun bool
	// absent are namespaces that a dry run would have created.
	absent map[string]bool
}

// apply applies one object, unless that would change nothing.
func (a applier) apply(ctx context.Context, object *unstructured.Unstructured) (Result, error) {
	done := Result{Object: object, DryRun: a.dryRun}
	live, err := a.read(ctx, object)
	if err != nil {
		return done, err
	}
	if live != nil && live.GetDeletionTimestamp() != nil && !a.dryRun {
		// It would be deleted with the changes.
		if err := a.goneSoon(ctx, object); err != nil {
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
		return a.written(ctx, done, a.dryRun)
	}
	if object.GetKind() == kindDefinition && crds.IsNewer(live, object) {
		// Without its fields the API server would drop what objects have in them.
		done.Action, done.Object = Kept, live
		return done, nil
	}
	outcome, err := a.write(ctx, object, true)
	if err != nil {
		return done, err
	}
	if done.Action = Unchanged; same(live, outcome) {
		done.Object = live
		return done, nil
	}
	done.Action = Configured
	if a.dryRun {
		done.Object = outcome
		return done, nil
	}
	return a.written(ctx, done, false)
}

// written applies the object of a result, and returns the result with what the server has.
func (a applier) written(ctx context.Context, done Result, dryRun bool) (Result, error) {
	outcome, err := a.write(ctx, done.Object, dryRun)
	if err == nil {
		done.Object = outcome
	}
	return done, err
}

// same reports whether an apply would change nothing. The times of managed fields entries do
// not count: for an admission policy with a status, the server returns a new one always.
func same(live, outcome *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(stored(live), stored(outcome))
}

// stored omits what a dry run does not return, and the status, which may change between
// the two responses.
func stored(object *unstructured.Unstructured) map[string]any {
	kept := object.DeepCopy()
	kept.SetResourceVersion("")
	unstructured.RemoveNestedField(kept.Object, "status")
	managers := slices.DeleteFunc(kept.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Subresource != ""
	})
	for i := range managers {
		managers[i].Time = nil
	}
	kept.SetManagedFields(managers)
	return kept.Object
}

// read returns the live object, or nil if there is none.
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

// write applies the full intent, and takes over its fields from other managers.
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

// empty returns an object with the kind and name of another.
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
