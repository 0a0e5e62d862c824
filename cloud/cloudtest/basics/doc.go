// Package basics contains the cases of the contract without faults: snapshots, lists, ownership,
// copies and volumes. Package failures contains the others.
package basics

import (
	"slices"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

// Cases returns the cases of this package, unsorted.
func Cases() []fixture.Case {
	return slices.Concat(basicCases(), listCases(), foreignCases(), copyCases(), volumeCases())
}
