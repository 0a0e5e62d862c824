package dispatch

import (
	"errors"

	"github.com/shopfleet/shopfleet/hub/aggregate"
	"github.com/shopfleet/shopfleet/spoke/apierror"
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
