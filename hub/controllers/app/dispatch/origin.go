package dispatch

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apierror"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// deletedOrigin stands for the generation in the origin of an application that was deleted.
const deletedOrigin = "deleted"

// origin is the application on the hub, and its generation, that a copy was made from.
type origin struct {
	app        types.UID
	generation int64
}

// originOf returns the origin of a copy. The UID is empty if the copy lost it.
func originOf(copied component.Resource) origin {
	annotations := copied.GetAnnotations()
	// A value that is not a number was edited by hand and is about to be corrected.
	generation, err := strconv.ParseInt(annotations[v1.HubGenerationAnnotation], 10, 64)
	if err != nil {
		generation = 0
	}
	return origin{app: types.UID(annotations[v1.HubAppUIDAnnotation]), generation: generation}
}

// knownDeletion returns an error if a member has recorded the deletion of an application
// that the hub has, because the hub was restored from an older backup.
func knownDeletion(app *v1.EcommerceApp, deleted func(types.UID) bool) error {
	if !deleted(app.UID) || accepts(app, app.UID, deletedOrigin) {
		return nil
	}
	return &apierror.SpecError{Reason: v1.ReasonDeletedInMember, Err: &unknownError{
		"the cluster has recorded the deletion of the application", string(app.UID) + "/" + deletedOrigin,
	}}
}

// knownCopy returns an error if the copy in a member is of a later generation than the
// application, or of another application with the same name, and the intent would change
// its spec. The hub does not know these if it was restored from an older backup, or if its
// objects were created again.
func knownCopy(app, intent *v1.EcommerceApp, live component.Resource, deleted func(types.UID) bool) error {
	from := originOf(live)
	generation := strconv.FormatInt(from.generation, 10)
	found := "the copy is of another application with this name, which the hub does not know"
	switch {
	case from.app == "", from.app == app.UID && from.generation <= app.Generation:
		return nil // It lost its origin, or is to be updated.
	case accepts(app, from.app, generation):
		return nil
	case from.app == app.UID:
		found = "the copy is of generation " + generation + ", which the hub has not reached"
	case deleted(from.app), sameSpec(intent, live):
		return nil
	}
	return &apierror.SpecError{Reason: v1.ReasonNewerInMember, Err: &unknownError{found, string(from.app) + "/" + generation}}
}

// unknownError describes what a member has and the hub does not know.
type unknownError struct{ found, accept string }

// Error returns a deterministic message that says how to go on.
func (e *unknownError) Error() string {
	return fmt.Sprintf("%s: to let the hub go on, annotate the application with %s=%s", e.found, v1.RecoverAnnotation, e.accept)
}

// accepts reports whether the user lets the hub overwrite what was made from a generation of
// an application, or an earlier one.
func accepts(app *v1.EcommerceApp, uid types.UID, generation string) bool {
	for accepted := range strings.SplitSeq(app.Annotations[v1.RecoverAnnotation], ",") {
		of, upTo, _ := strings.Cut(strings.TrimSpace(accepted), "/")
		if of != string(uid) {
			continue
		}
		most, err := strconv.ParseInt(upTo, 10, 64)
		is, notANumber := strconv.ParseInt(generation, 10, 64)
		if upTo == generation || err == nil && notANumber == nil && is <= most {
			return true
		}
	}
	return false
}

func sameSpec(intent *v1.EcommerceApp, live component.Resource) bool {
	copied, typed := live.(*v1.EcommerceApp)
	if u, ok := live.(*unstructured.Unstructured); ok {
		copied = &v1.EcommerceApp{}
		typed = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, copied) == nil
	}
	return typed && equality.Semantic.DeepEqual(intent.Spec, copied.Spec)
}
