// Package basics are the cases of the contract in which the cloud does what it is asked
// for: snapshots, lists, ownership, copies and volumes.
//
// Not: requests that go wrong, which are in package failures. A case is here that loses
// an answer by the way.
package basics

import (
	"slices"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

// Cases returns them, in no order.
func Cases() []fixture.Case {
	return slices.Concat(basicCases(), listCases(), foreignCases(), copyCases(), volumeCases())
}
