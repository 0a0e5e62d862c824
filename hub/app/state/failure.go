package state

import (
	"errors"
	"time"

	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// LastingAfter is the time after which what the member's API server fails on waits for a user.
const LastingAfter = 3 * time.Minute

// ErrPanicked means that a pass over a copy, or over what is beside it, panicked.
var ErrPanicked = errors.New("reconciling panicked")

// FailureOf returns what the status shows of an error of a member; nil shows nothing.
func FailureOf(err error) *aggregate.Failure {
	d := apierror.Decide(err)
	if d.Reason == "" {
		return nil
	}
	return &aggregate.Failure{Reason: d.Reason, Message: d.Message}
}

// Follow adds to the result of an attempt that ended with an error what follows from the last one about the same
// application. A failure that may pass by itself waits for a user if it lasts for a time.
func (r *Result) Follow(last Result, err error, now time.Time, lasting time.Duration) {
	if err != nil && r.stillFails(last) {
		r.Failure, r.Failing = last.Failure, last.Failing
	}
	if r.Failure == nil || apierror.Classify(err) != apierror.Internal {
		return
	}
	r.Failing = now
	if last.App == r.App && last.Revision == r.Revision && !last.Failing.IsZero() {
		r.Failing = last.Failing
	}
	r.Failure.Lasting = now.Sub(r.Failing) >= lasting
}

// stillFails reports whether the last failure is that of an attempt that ended without a reason, such as a conflict: it
// was about the same order, and about what this attempt has not written.
func (r *Result) stillFails(last Result) bool {
	return r.Failure == nil && !r.Applied && last.Failure != nil && last.App == r.App && last.Hash == r.Hash
}
