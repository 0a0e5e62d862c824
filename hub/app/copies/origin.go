package copies

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// knownDeletion returns an error if a member has recorded the deletion of an application
// that the hub has, because the hub was restored from an older backup, or had recorded it when
// the application began to wait for the user. The time deletedAt is zero if none is recorded.
func knownDeletion(app *v1.EcommerceApp, deletedAt time.Time, waiting string) error {
	origin := waiting
	if !deletedAt.IsZero() {
		origin = v1.DeletionOrigin(app.UID, deletedAt)
	}
	former, _, deleted := v1.ParseDeletionOrigin(origin)
	if !deleted || former != app.UID || accepts(app, origin) {
		return nil
	}
	return refuse(v1.ReasonDeletedInMember, "the cluster has recorded the deletion of the application", origin)
}

// knownLeaving returns an error if an application left a member and the hub does not know of
// it, because the hub was restored from an older backup, or if that waits for the user since.
// The generation left, at which it left, is 0 if it did not. It is about a member without a copy
// or with one that is being deleted.
func (t *task) knownLeaving(left int64) error {
	app := t.App
	former, generation, waits := v1.ParseLeavingOrigin(t.waiting)
	if waits = waits && former == app.UID; waits {
		left = max(left, generation) // The record may have aged.
	}
	// A member's labels move an application without a new generation. A hub that knows of that
	// does not expect the copy to exist.
	unknown := waits || left > app.Generation || left == app.Generation && t.hadCopy()
	origin := v1.LeavingOrigin(app.UID, left)
	if !unknown || accepts(app, origin) {
		return nil
	}
	return refuse(v1.ReasonNewerElsewhere, "the application left the cluster by generation "+strconv.FormatInt(left, 10)+", and the hub does not know of it", origin)
}

// comparison holds everything that decides whether the hub knows the copy of an application
// in a member.
type comparison struct {
	app *v1.EcommerceApp
	// intent is the copy that the hub would write; nil if it would delete the live one.
	intent *v1.EcommerceApp
	live   component.Resource
	// waiting is the origin that waits for the user in the member; empty if none does.
	waiting string
	// deleted reports whether an application was deleted.
	deleted func(types.UID) bool
}

// knownCopy returns an error if the copy in a member is of a later generation than the
// application, or of another application with the same name, and the intent would change
// its spec. The hub does not know these if it was restored from an older backup, or if its
// objects were created again. A copy that waits for the user does so until it has the spec of
// the intent or the user accepts it, also if the hub reaches its generation.
func knownCopy(c comparison) error {
	from := v1.OriginOf(c.live.GetAnnotations())
	found := "the copy is of another application with this name, which the hub does not know"
	switch {
	case from.App == "", from.App == c.app.UID && from.Generation <= c.app.Generation && from.String() != c.waiting:
		return nil // It lost its origin, or is to be updated.
	case accepts(c.app, from.String()), c.intent != nil && sameSpec(c.intent, c.live):
		return nil
	case from.App == c.app.UID:
		found = "the copy is of generation " + strconv.FormatInt(from.Generation, 10) + ", which the hub does not have"
	case c.deleted(from.App):
		return nil
	}
	return refuse(v1.ReasonNewerInMember, found, from.String())
}

// unknownError describes what a member has and the hub does not know.
type unknownError struct {
	found string
	// origin has to be accepted by the user; empty if it is that of another member.
	origin string
}

func refuse(reason, found, origin string) error {
	return &apierror.SpecError{Reason: reason, Err: &unknownError{found: found, origin: origin}}
}

// Error returns a deterministic message that says how to go on.
func (e *unknownError) Error() string { return e.found + ": see kubectl shopfleet recover" }

// waitingAfter returns the origin that waits for the user after an attempt to write or delete
// a copy, where waiting is the one before.
func waitingAfter(err error, waiting string) string {
	if unknown, ok := errors.AsType[*unknownError](err); ok {
		return unknown.origin
	}
	if err != nil {
		return waiting // It was not compared.
	}
	return ""
}

// accepts reports whether the user lets the hub replace what has an origin. An approval counts
// for this origin only, not for another generation or deletion.
func accepts(app *v1.EcommerceApp, origin string) bool {
	for accepted := range strings.SplitSeq(app.Annotations[v1.RecoverAnnotation], ",") {
		if strings.TrimSpace(accepted) == origin {
			return true
		}
	}
	return false
}

// sameSpec reports whether the intent would change neither the spec of a copy nor restart
// its pods.
func sameSpec(intent *v1.EcommerceApp, live component.Resource) bool {
	copied, typed := live.(*v1.EcommerceApp)
	if u, ok := live.(*unstructured.Unstructured); ok {
		copied = &v1.EcommerceApp{}
		typed = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, copied) == nil
	}
	return typed && equality.Semantic.DeepEqual(intent.Spec, copied.Spec) &&
		intent.Annotations[v1.RestartedAtAnnotation] == copied.Annotations[v1.RestartedAtAnnotation]
}
