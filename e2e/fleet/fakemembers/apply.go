package fakemembers

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// fieldManager returns apimachinery's implementation of managed fields for a kind without a schema.
func fieldManager(kind schema.GroupVersionKind, subresource string) (*managedfields.FieldManager, error) {
	manager, err := managedfields.NewDefaultCRDFieldManager(
		managedfields.NewDeducedTypeConverter(), unversioned{}, unversioned{}, unversioned{}, kind, kind.GroupVersion(), subresource, nil)
	if err != nil {
		return nil, fmt.Errorf("managing fields of %s: %w", kind.Kind, err)
	}
	return manager, nil
}

// unversioned converts, defaults and creates objects of kinds that have one version and no defaults.
type unversioned struct{}

// Convert implements runtime.ObjectConvertor.
func (unversioned) Convert(_, out, _ any) error {
	return fmt.Errorf("converting to %T: %w", out, errUnsupported)
}

// ConvertToVersion returns the object.
func (unversioned) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// ConvertFieldLabel returns its arguments.
func (unversioned) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default does nothing.
func (unversioned) Default(runtime.Object) {}

// New returns an object of the kind.
func (unversioned) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// applied returns an object with an intent applied, and its managed fields.
func (w *write) applied(live, intent *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	manager, err := fieldManager(w.collection.GroupVersionKind, w.subresource)
	if err != nil {
		return nil, err
	}
	merged, err := manager.Apply(live, intent, w.manager, force)
	if err != nil {
		return nil, err
	}
	return content(merged)
}

// updated returns an object that was written otherwise, with its managed fields.
func (w *write) updated(live, next *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	manager, err := fieldManager(w.collection.GroupVersionKind, w.subresource)
	if err != nil {
		return nil, err
	}
	managed, err := manager.Update(live, next, w.manager)
	if err != nil {
		return nil, fmt.Errorf("managing fields of %q: %w", w.name, err)
	}
	return content(managed)
}

func content(o runtime.Object) (*unstructured.Unstructured, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%T: %w", o, errUnsupported)
	}
	return u, nil
}

// mergePatch applies a JSON merge patch.
func mergePatch(target, patch map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(target, key)
		case map[string]any:
			inner, _ := target[key].(map[string]any)
			target[key] = mergePatch(inner, v)
		default:
			target[key] = value
		}
	}
	return target
}

// withoutTimes returns the managed fields without the times of their entries.
func withoutTimes(u *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	entries := u.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	return entries
}
