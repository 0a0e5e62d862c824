// Package failures contains the cases of the contract with faults: lost requests and responses,
// refusals, crashes, and random combinations of them.
//
// # Purpose
//
// Cases returns the cases with their numbers, for package cloudtest to run against a provider.
// Random runs thirty random steps with faults, and checks the state that remains when they end.
//
// # Non-goals
//
// What a provider does without faults is the subject of package basics. The faults themselves are
// those of package faults.
//
// # Trade-offs
//
// Random has its own generator of numbers, so that a seed gives the same steps in every version of
// Go. It gives the same run only as long as a session sends the same requests.
package failures

import (
	"slices"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

// Cases returns the cases of this package, unsorted.
func Cases() []fixture.Case {
	return slices.Concat(throttleCases(), lostCases(), accessCases(), answerCases())
}
