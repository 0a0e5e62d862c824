package component

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// maxRewrites is the number of objects that a message about rewrites names.
const maxRewrites = 2

// Rewrite describes an object whose fields the API server stored with other values than were applied.
type Rewrite struct {
	Kind, Name string
	// Field is the path of the first field by name, and More is the number of the others.
	Field string
	More  int
	// Applied and Stored are values of the field; empty for a Secret.
	Applied, Stored string
}

// text describes a rewrite for a message.
func (r Rewrite) text() string {
	text := fmt.Sprintf("%s %s has another %s", r.Kind, r.Name, r.Field)
	if r.Applied != "" || r.Stored != "" {
		text = fmt.Sprintf("%s %s has %s %s in place of %s", r.Kind, r.Name, r.Field, r.Stored, r.Applied)
	}
	if r.More > 0 {
		text += fmt.Sprintf(" and %d more", r.More)
	}
	return text
}

// storedFixed returns the immutable field of a StatefulSet that has another value than was applied, and false
// if all of them match. The stored value is kept, so that no later write shows the difference.
func storedFixed(want, live *appsv1.StatefulSet) (Rewrite, bool) {
	if !sameFixed(want, live) {
		return Rewrite{}, false
	}
	rewrite := Rewrite{Kind: "StatefulSet", Name: want.Name}
	switch field := fixedDifference(want, live); field {
	case "":
		return Rewrite{}, false
	case "serviceName":
		rewrite.Applied, rewrite.Stored = want.Spec.ServiceName, live.Spec.ServiceName
		rewrite.Field = "spec." + field
	case "volumeClaimTemplates":
		rewrite.Field = "spec." + field
		if len(want.Spec.VolumeClaimTemplates) > 0 && len(live.Spec.VolumeClaimTemplates) > 0 {
			applied, stored := want.Spec.VolumeClaimTemplates[0].Spec, live.Spec.VolumeClaimTemplates[0].Spec
			if is, was := stored.Resources.Requests.Storage(), applied.Resources.Requests.Storage(); is.Cmp(*was) != 0 {
				rewrite.Field, rewrite.Applied, rewrite.Stored = rewrite.Field+" with a size of", was.String(), is.String()
			}
		}
	default:
		rewrite.Field = "spec." + field
	}
	return rewrite, true
}

// WithStored returns rewrites and, in addition, the rewrites of other objects.
func WithStored(all, others []Rewrite) []Rewrite {
	for _, other := range others {
		if !slices.ContainsFunc(all, func(r Rewrite) bool { return r.Kind == other.Kind && r.Name == other.Name }) {
			all = append(all, other)
		}
	}
	return all
}

// rewritesMessage returns the message that names what admission changed, and what a user can do about it.
func rewritesMessage(all []Rewrite) string {
	var texts []string
	for _, r := range all[:min(len(all), maxRewrites)] {
		texts = append(texts, r.text())
	}
	if n := len(all) - maxRewrites; n > 0 {
		texts = append(texts, fmt.Sprintf("%d more objects are changed", n))
	}
	return v1.Excerpt("an admission policy or webhook of the cluster changes what is applied: "+strings.Join(texts, ", ")+
		"; if that is not intended, exempt the application from it and set the annotation "+v1.ReconcileAtAnnotation, maxMessage)
}
