package recovery

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Facts holds what a member has of an application, and what the hub knows of that: less, if the hub was restored from an
// older backup or its objects were created again.
type Facts struct {
	// App is the application as the hub has it.
	App *v1.EcommerceApp
	// HadCopy means that the hub knows of a copy in the member, and Waiting is the origin there that waits for the user;
	// empty if none does.
	HadCopy bool
	Waiting string
	// DeletedAt is when the member recorded the deletion of the application; zero if it did not. Left is the generation by
	// which the application left the member; 0 if it did not.
	DeletedAt time.Time
	Left      int64

	// Live is the copy in the member; nil if there is none. Intent is the copy that the hub would write; nil if it would
	// delete the live one. FormerDeleted means that the application of the live copy was deleted. The last two matter only
	// if the copy IsUnknown.
	Live          metav1.Object
	Intent        *v1.EcommerceApp
	FormerDeleted bool

	// Elsewhere is the first of the other members that has what waits for the user; empty if none does. Others are what
	// the other members have; they matter only if the copy was LostSince.
	Elsewhere string
	Others    []Other
}

// Other holds what another member has of the application.
type Other struct {
	Name string
	// Away means that it is not connected, and Connecting that it is about to be.
	Away, Connecting bool
	// Later is the origin of a later copy there, which the user has not accepted; empty if there is none.
	Later string
}

// UnknownError says what a member has and the hub does not know.
type UnknownError struct {
	// Reason is the reason of the condition that reports the error.
	Reason string
	// Origin names what the user has to accept; empty if another member has it.
	Origin string
	found  string
}

// Error returns a deterministic message that says how to go on.
func (e *UnknownError) Error() string { return e.found + ": see kubectl shopfleet recover list -A" }

// ErrUnobserved means that it is not known yet what members have: some are about to be connected, or to be observed.
var ErrUnobserved = errors.New("members are not connected or observed yet")

// Assess returns nil if a hub may write or delete the copy of an application, and otherwise an *UnknownError, which the user
// has to settle, or ErrUnobserved.
func Assess(f Facts) error {
	if err := AssessRecord(f); err != nil {
		return err
	}
	if f.Live != nil {
		return AssessCopy(f)
	}
	return assessCreation(f)
}

// AssessRecord returns an *UnknownError if the member has recorded a deletion or a departure of the application that the hub
// does not know of.
func AssessRecord(f Facts) error {
	if err := assessDeletion(f); err != nil {
		return err
	}
	if f.Live == nil || f.Live.GetDeletionTimestamp() != nil {
		return assessDeparture(f)
	}
	return nil
}

// assessDeletion assesses an application that the hub has, and whose deletion the member has recorded, or had when it
// began to wait for the user.
func assessDeletion(f Facts) error {
	origin := f.Waiting
	if !f.DeletedAt.IsZero() {
		origin = v1.DeletionOrigin(f.App.UID, f.DeletedAt)
	}
	former, _, deleted := v1.ParseDeletionOrigin(origin)
	if !deleted || former != f.App.UID || Accepts(f.App, origin) {
		return nil
	}
	return &UnknownError{Reason: v1.ReasonDeletedInMember, Origin: origin, found: "the cluster has recorded the deletion of the application"}
}

// assessDeparture assesses an application that left the member.
func assessDeparture(f Facts) error {
	left := f.Left
	former, generation, waits := v1.ParseLeavingOrigin(f.Waiting)
	if waits = waits && former == f.App.UID; waits {
		left = max(left, generation) // The record may have aged.
	}
	// A member's labels move an application without a new generation. A hub that knows of that
	// does not expect the copy to exist.
	unknown := waits || left > f.App.Generation || left == f.App.Generation && f.HadCopy
	origin := v1.LeavingOrigin(f.App.UID, left)
	if !unknown || Accepts(f.App, origin) {
		return nil
	}
	return &UnknownError{
		Reason: v1.ReasonNewerElsewhere, Origin: origin,
		found: "the application left the cluster by generation " + strconv.FormatInt(left, 10) + ", and the hub does not know of it",
	}
}

// IsUnknown reports whether the live copy is of a later generation than the application, of another application with the
// same name, or waits for the user. A copy that lost its origin does not count.
func (f Facts) IsUnknown() bool {
	if f.Live == nil {
		return false
	}
	from := v1.OriginOf(f.Live.GetAnnotations())
	return from.App != "" && (from.App != f.App.UID || from.Generation > f.App.Generation || from.String() == f.Waiting)
}

// AssessCopy returns an *UnknownError if the live copy IsUnknown and the intent would change its spec. One that waits for the
// user does so until it has the spec of the intent or the user accepts it, also if the hub reaches its generation.
func AssessCopy(f Facts) error {
	if !f.IsUnknown() {
		return nil
	}
	from := v1.OriginOf(f.Live.GetAnnotations())
	found := "the copy is of another application with this name, which the hub does not know"
	switch {
	case Accepts(f.App, from.String()), f.Intent != nil && sameSpec(f.Intent, f.Live):
		return nil
	case from.App == f.App.UID:
		found = "the copy is of generation " + strconv.FormatInt(from.Generation, 10) + ", which the hub does not have"
	case f.FormerDeleted:
		return nil
	}
	return &UnknownError{Reason: v1.ReasonNewerInMember, Origin: from.String(), found: found}
}

// LostSince reports whether there was a copy that is missing now, or whose creation waits for the user: it may have moved.
func (f Facts) LostSince() bool { return f.Live == nil && (f.HadCopy || f.Waiting != "") }

// assessCreation assesses a member without a copy. The placement may be that of an older backup: a copy that waits for the
// user elsewhere may have replaced the one that is missing here.
func assessCreation(f Facts) error {
	complete, connecting := true, false
	for _, other := range f.Others {
		if other.Later != "" {
			return &UnknownError{Reason: v1.ReasonNewerElsewhere, Origin: other.Later, found: "the copy is not created while " + other.Name + " has a later generation"}
		}
		complete = complete && !other.Away
		connecting = connecting || other.Connecting
	}
	switch {
	case connecting:
		return ErrUnobserved
	case f.Waiting != "" && !complete && !Accepts(f.App, f.Waiting):
		return &UnknownError{Reason: v1.ReasonNewerElsewhere, Origin: f.Waiting, found: "the copy is not created while a cluster that had a later generation is unreachable"}
	case f.Elsewhere != "":
		return &UnknownError{Reason: v1.ReasonNewerElsewhere, found: "the copy is not created while " + f.Elsewhere + " has a newer copy or a recorded deletion"}
	}
	return nil
}

// Later returns the origin of the live copy if it is of a later generation of the application, or waits for the user by
// the inventory, and the user has not accepted it. Copies of other applications do not count: those without an entry in
// the inventory, which is listed, are orphans.
func Later(f Facts, listed bool, waiting string) string {
	from := v1.OriginOf(f.Live.GetAnnotations())
	waits := listed && waiting == from.String()
	if from.App != f.App.UID || from.Generation <= f.App.Generation && !waits || Accepts(f.App, from.String()) {
		return ""
	}
	if listed && AssessCopy(f) == nil {
		return ""
	}
	return from.String()
}

// OriginAfter returns the origin that waits for the user after an attempt to write or delete a copy, where waiting is the
// one before.
func OriginAfter(err error, waiting string) string {
	if unknown, ok := errors.AsType[*UnknownError](err); ok {
		return unknown.Origin
	}
	if err != nil {
		return waiting // It was not compared.
	}
	return ""
}

// Accepts reports whether the user lets the hub replace what has an origin. An approval counts
// for this origin only, not for another generation or deletion.
func Accepts(app *v1.EcommerceApp, origin string) bool {
	for accepted := range strings.SplitSeq(app.Annotations[v1.RecoverAnnotation], ",") {
		if strings.TrimSpace(accepted) == origin {
			return true
		}
	}
	return false
}

// sameSpec reports whether the intent would change neither the spec of a copy nor restart
// its pods.
func sameSpec(intent *v1.EcommerceApp, live metav1.Object) bool {
	copied, typed := live.(*v1.EcommerceApp)
	if u, ok := live.(*unstructured.Unstructured); ok {
		copied = &v1.EcommerceApp{}
		typed = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, copied) == nil
	}
	return typed && equality.Semantic.DeepEqual(intent.Spec, copied.Spec) &&
		intent.Annotations[v1.RestartedAtAnnotation] == copied.Annotations[v1.RestartedAtAnnotation]
}
