package copies

import (
	"errors"
	"time"

	"github.com/shopfleet/shopfleet/hub/app/aggregate"
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

// escalate makes a failure that may pass by itself one that waits for a user if it lasts. The report before
// says since when it does.
func (r *report) escalate(err error, last report, now time.Time, after time.Duration) {
	if r.failure == nil || apierror.Classify(err) != apierror.Internal {
		return
	}
	r.failing = now
	if last.app == r.app && last.revision == r.revision && !last.failing.IsZero() {
		r.failing = last.failing
	}
	r.failure.Lasting = now.Sub(r.failing) >= after
}
