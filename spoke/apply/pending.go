package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// Bounds of PendingChange.Fields, in bytes where they are about text.
const (
	maxPendingFields = 10
	maxPendingField  = 256
	maxPendingValue  = 80
)

// hashPath is the path of the hash annotation. It changes with everything else, and is listed only
// if nothing else is: the intent then lacks a field that it had.
const hashPath = "metadata.annotations[" + v1.SpecHashAnnotation + "]"

// renderedPath is the path of the annotation of what was rendered, which changes with other fields, too.
const renderedPath = "metadata.annotations[" + v1.RenderedAnnotation + "]"

// held returns the result for a change that is not written.
func held(change v1.PendingChange) Result { return Result{Outcome: Held, Change: &change} }

// Change returns a change of an object without its fields. The object must have its kind.
func Change(action v1.PendingAction, object component.Resource) v1.PendingChange {
	return v1.PendingChange{Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: object.GetName(), Action: action}
}

// Recreation returns the change of an object that is to be deleted, and to be created again from
// an intent. The fields are left out if one of the two cannot be converted.
func Recreation(live, intent component.Resource) v1.PendingChange {
	change := Change(v1.PendingRecreate, live)
	from, failed := contentOf(live)
	to, err := contentOf(intent)
	if failed == nil && err == nil {
		change.Fields = fields(change.Kind, fieldDifferences(from, to))
	}
	return change
}

// Scaling returns the change of a Deployment that is to have another number of pods.
func Scaling(deployment component.Resource, from, to int32) v1.PendingChange {
	change := Change(v1.PendingUpdate, deployment)
	change.Fields = fields(change.Kind, []difference{{"spec.replicas", from, to}})
	return change
}

// Expansion returns the change of a claim that is to grow, from one size to another.
func Expansion(claim component.Resource, from, to string) v1.PendingChange {
	change := Change(v1.PendingExpand, claim)
	change.Fields = fields(change.Kind, []difference{{"spec.resources.requests.storage", from, to}})
	return change
}

// answered returns the result of a dry run, where live is the content of an object and answer what it
// would be. It is Unchanged if the API server would change nothing, as with a webhook that undoes it.
func answered(live map[string]any, answer *unstructured.Unstructured) (Result, error) {
	content, err := contentOf(answer)
	if err != nil {
		return Result{}, err
	}
	all := drifted(live, answer)
	for _, d := range drifted(content, &unstructured.Unstructured{Object: live}) {
		if !slices.ContainsFunc(all, func(known difference) bool { return known.path == d.path }) {
			all = append(all, difference{d.path, d.intent, d.live}) // The write removes it.
		}
	}
	all = slices.DeleteFunc(all, func(d difference) bool { return d.path == "status" || strings.HasPrefix(d.path, "status.") })
	if len(all) == 0 {
		return Result{Outcome: Unchanged}, nil
	}
	return Result{Outcome: Updated, Object: answer, Change: new(pendingUpdate(answer, all))}, nil
}

// SpecFields returns the fields in which two specs differ, as in PendingChange.Fields. Unlike an
// apply, it compares both ways: the object has no fields of others.
func SpecFields(live, intent map[string]any) []string {
	all := differences(live, intent, "spec", "", "spec")
	for _, d := range differences(intent, live, "spec", "", "spec") {
		if !slices.ContainsFunc(all, func(known difference) bool { return known.path == d.path }) {
			all = append(all, difference{d.path, d.intent, d.live})
		}
	}
	return fields("", all)
}

// pendingUpdate returns the change of an object that differs from an intent.
func pendingUpdate(intent *unstructured.Unstructured, all []difference) v1.PendingChange {
	change := Change(v1.PendingUpdate, intent)
	change.Fields = fields(change.Kind, withoutNotes(all))
	return change
}

// withoutNotes returns differences without the annotations that change with other fields, unless only they
// differ.
func withoutNotes(all []difference) []difference {
	for _, path := range []string{renderedPath, hashPath} {
		if len(all) > 1 {
			all = slices.DeleteFunc(all, func(d difference) bool { return d.path == path })
		}
	}
	return all
}

// fields describes differences of an object of a kind: sorted, and bounded. No value of a Secret
// is among them.
func fields(kind string, all []difference) []string {
	slices.SortFunc(all, func(a, b difference) int { return strings.Compare(a.path, b.path) })
	all = all[:min(len(all), maxPendingFields)]
	if len(all) == 0 {
		return nil
	}
	described := make([]string, 0, len(all))
	for _, d := range all {
		text := d.path
		if kind != "Secret" {
			text += ": " + describe(d.live) + " -> " + describe(d.intent)
		}
		described = append(described, v1.Excerpt(text, maxPendingField))
	}
	return described
}

// describe returns a value of a field on one line.
func describe(value any) string {
	var text string
	switch v := value.(type) {
	case nil:
		return "none"
	case string:
		if text = v; text == "" || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			text = strconv.Quote(text)
		}
	case map[string]any, []any:
		encoded, err := json.Marshal(v) // It has no other types, so that it does not fail.
		if err != nil {
			return "unknown"
		}
		text = string(encoded)
	default:
		text = fmt.Sprint(v)
	}
	return v1.Excerpt(text, maxPendingValue)
}
