// Package failures are the cases of the contract in which something goes wrong: requests
// and answers that are lost, refusals, crashes, and everything at random.
//
// Not: what a caller does with a class for how long; that is the hub's.
package failures

import (
	"slices"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

// Cases returns them, in no order.
func Cases() []fixture.Case {
	return slices.Concat(throttleCases(), lostCases(), accessCases(), answerCases())
}
