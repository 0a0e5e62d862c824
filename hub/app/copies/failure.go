package copies

import (
	"errors"
	"time"

	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// errPanicked means that writing or deleting a copy panicked.
var errPanicked = errors.New("reconciling panicked")

// failureOf returns what the status shows of an error of a member; nil shows nothing.
func failureOf(err error) *aggregate.Failure {
	d := apierror.Decide(err)
	if d.Reason == "" {
		return nil
	}
	return &aggregate.Failure{Reason: d.Reason, Message: d.Message}
}

// lastingAfter is the time after which a copy that the member's API server fails on waits for a user.
const lastingAfter = 3 * time.Minute

// lasts reports whether an error may pass by itself and, if it does not, waits for a user.
func lasts(err error) bool { return apierror.Classify(err) == apierror.Internal }

// escalate makes a failure that may pass by itself one that waits for a user if it lasts. The result before
// says since when it does.
func escalate(r *state.Result, last state.Result, now time.Time, after time.Duration) {
	r.Failing = now
	if last.App == r.App && last.Revision == r.Revision && !last.Failing.IsZero() {
		r.Failing = last.Failing
	}
	r.Failure.Lasting = now.Sub(r.Failing) >= after
}

// stillFails reports whether the last failure is that of an attempt that ended without a reason, such as a conflict: it
// was about the same order, and about what this attempt has not written.
func stillFails(last, next state.Result, hash string) bool {
	return last.Failure != nil && last.Hash == hash && (!next.Applied || last.Failure.Propagation)
}
