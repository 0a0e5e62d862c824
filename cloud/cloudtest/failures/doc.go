// Package failures contains the cases of the contract with faults: lost requests and responses,
// refusals, crashes, and random combinations of them.
package failures

import (
	"slices"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

// Cases returns the cases of this package, unsorted.
func Cases() []fixture.Case {
	return slices.Concat(throttleCases(), lostCases(), accessCases(), answerCases())
}
