// Package basics contains the cases of the contract without faults: snapshots, lists, ownership,
// copies and volumes.
//
// # Purpose
//
// Cases returns the cases with their numbers, for package cloudtest to run against a provider.
//
// # Non-goals
//
// Requests that fail are the subject of package failures, buckets of package objectstore.
//
// # Trade-offs
//
// The cases are a package of their own for the size of the suite alone: no other package than
// cloudtest imports it.
package basics

import (
	"slices"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

// Cases returns the cases of this package, unsorted.
func Cases() []fixture.Case {
	return slices.Concat(basicCases(), listCases(), foreignCases(), copyCases(), keyCases(), volumeCases())
}
