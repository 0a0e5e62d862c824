package installer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Pruned is the action on an object that a former version installed and this one does not.
const Pruned Action = "pruned"

// inventoryKey is the key of the list in the ConfigMap.
const inventoryKey = "objects"

// WithInventory returns the plan with a ConfigMap that lists its objects, by which a later
// version finds those that it no longer has.
func (p Plan) WithInventory(namespace, name string) Plan {
	lines := make([]string, 0, len(p.Objects))
	for _, object := range p.Objects {
		lines = append(lines, entry(object))
	}
	slices.Sort(lines)
	inventory := &unstructured.Unstructured{Object: map[string]any{
		"data": map[string]any{inventoryKey: strings.Join(lines, "\n") + "\n"},
	}}
	inventory.SetAPIVersion("v1")
	inventory.SetKind("ConfigMap")
	inventory.SetNamespace(namespace)
	inventory.SetName(name)
	inventory.SetLabels(map[string]string{v1.PartOfLabel: "shopfleet"})
	p.inventory = inventory
	return p
}

// Complete returns the plan with its inventory among its objects, to be removed with them.
func (p Plan) Complete() Plan {
	if p.inventory != nil {
		p.Objects = append(slices.Clone(p.Objects), p.inventory)
	}
	return p
}

// entry returns an object as a line of an inventory.
func entry(object *unstructured.Unstructured) string {
	return strings.Join([]string{object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName()}, " ")
}

// Prune deletes the objects that the inventory in the cluster lists and the plan does not
// have, and reports them. Namespaces, CRDs and objects that the program did not apply stay.
func (p Plan) Prune(ctx context.Context, c client.Client, report func(Result) error) error {
	if p.inventory == nil {
		return nil
	}
	live, err := applier{client: c}.read(ctx, p.inventory)
	if err != nil || live == nil {
		return err
	}
	text, _, err := unstructured.NestedString(live.Object, "data", inventoryKey)
	if err != nil {
		return fmt.Errorf("reading %s: %w", Name(live), err)
	}
	kept := map[string]bool{}
	for _, object := range p.Objects {
		kept[entry(object)] = true
	}
	for line := range strings.Lines(text) {
		object := listed(line)
		if object == nil || kept[entry(object)] {
			continue
		}
		if err := p.prune(ctx, c, object, report); err != nil {
			return err
		}
	}
	return nil
}

// listed returns the object of a line, or nil if it names no object or one that is never pruned.
func listed(line string) *unstructured.Unstructured {
	words := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	if len(words) != 4 || words[1] == kindDefinition || words[1] == kindNamespace {
		return nil
	}
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(words[0])
	object.SetKind(words[1])
	object.SetNamespace(words[2])
	object.SetName(words[3])
	return object
}

func (p Plan) prune(ctx context.Context, c client.Client, object *unstructured.Unstructured, report func(Result) error) error {
	live, err := applier{client: c}.read(ctx, object)
	if meta.IsNoMatchError(err) || err == nil && (live == nil || !applied(live)) {
		return nil
	}
	if err != nil {
		return err
	}
	uid := live.GetUID()
	options := append(p.deletion(object), client.Preconditions{UID: &uid})
	if err := c.Delete(ctx, empty(object), options...); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("pruning %s: %w", Name(object), err)
	}
	return report(Result{Object: object, Action: Pruned, DryRun: p.DryRun})
}

// applied reports whether the program has applied an object.
func applied(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == FieldManager && m.Operation == metav1.ManagedFieldsOperationApply
	})
}
