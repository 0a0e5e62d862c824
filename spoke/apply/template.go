package apply

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// templatePath returns the path of the pod template of a workload.
func templatePath() []string { return []string{"spec", "template"} }

// keepTemplate gives an intent the pod template that this applier has applied to a live workload, by its managed fields:
// another version of it is not to be written. It reports false if that cannot stay, because others have changed what
// was applied.
func (a *Applier) keepTemplate(req Request, live component.Resource, intent *unstructured.Unstructured) (bool, error) {
	content, err := contentOf(live)
	if err != nil {
		return false, err
	}
	stored, _, _ := unstructured.NestedMap(content, templatePath()...)
	var ours map[string]any
	if entry := appliedBy(live.GetManagedFields(), a.manager); entry != nil {
		ours = fieldsBelow(appliedFields(entry), templatePath()...)
	}
	if len(stored) == 0 || len(ours) == 0 {
		return false, nil
	}
	if req.Instead != nil {
		wanted, err := contentOf(req.Instead)
		if err != nil {
			return false, err
		}
		template, _, _ := unstructured.NestedMap(wanted, templatePath()...)
		if a.isEdited(live, ours, template) {
			return false, nil
		}
	}
	kept, ok := ownedPart(stored, ours).(map[string]any)
	if !ok {
		return false, nil
	}
	return true, unstructured.SetNestedMap(intent.Object, runtime.DeepCopyJSON(kept), templatePath()...)
}

// isEdited reports whether another manager has changed a field of a pod template that is rendered: it owns the field, and
// this applier does not.
func (a *Applier) isEdited(live component.Resource, ours, template map[string]any) bool {
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource != "" || entry.FieldsV1 == nil || entry.Manager == a.manager {
			continue
		}
		if theirs := fieldsBelow(appliedFields(&entry), templatePath()...); theirs != nil && takesOver(theirs, ours, template) {
			return true
		}
	}
	return false
}

// takesOver reports whether managed fields have a field that a value sets, and that is not among ours.
func takesOver(theirs, ours map[string]any, value any) bool {
	switch {
	case theirs == nil || isEmpty(value):
		return false
	case ours == nil:
		return true
	case len(theirs) == 0 || len(ours) == 0:
		return false // Both have it as a whole, with the same value.
	}
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if takesOver(fieldsBelow(theirs, key), fieldsBelow(ours, key), below) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if takesOver(itemFields(theirs, item), itemFields(ours, item), item) {
				return true
			}
		}
	}
	return false
}

// ownedPart returns the part of a value that managed fields contain.
func ownedPart(value any, fields map[string]any) any {
	if len(fields) == 0 {
		return value // A leaf is owned as a whole.
	}
	switch v := value.(type) {
	case map[string]any:
		part := make(map[string]any, len(v))
		for key, below := range v {
			if child := fieldsBelow(fields, key); child != nil {
				part[key] = ownedPart(below, child)
			}
		}
		return part
	case []any:
		part := make([]any, 0, len(v))
		for _, item := range v {
			if child := itemFields(fields, item); child != nil {
				part = append(part, ownedPart(item, child))
			}
		}
		return part
	default:
		return value
	}
}

// fieldsBelow returns the managed fields at a path; nil if there are none.
func fieldsBelow(fields map[string]any, path ...string) map[string]any {
	for _, key := range path {
		fields, _ = fields["f:"+key].(map[string]any)
	}
	return fields
}

// itemFields returns the managed fields of an item of a list, which is found by its keys, or in a set by its value; nil if
// there are none. The API server may have set a key that the intent leaves to it.
func itemFields(fields map[string]any, item any) map[string]any {
	for path, below := range fields {
		child, ok := below.(map[string]any)
		if !ok {
			continue
		}
		kind, text, _ := strings.Cut(path, ":")
		var named any
		if err := json.Unmarshal([]byte(text), &named); err != nil {
			continue
		}
		isItem := kind == "v" && (equalScalars(item, named) || reflect.DeepEqual(item, named))
		if isItem || kind == "k" && hasKeys(item, named) {
			return child
		}
	}
	return nil
}
