// Package matrix turns the output of go test -json into a table of cases and providers for each suite
// of the contract.
//
// # Purpose
//
// Read returns the results of all cases with all providers. Markdown renders them, and Problems lists
// the cases that failed, are missing, or were skipped without a reason.
//
// # Non-goals
//
// The package runs no tests, and does not write cloud/cloudtest/README.md.
//
// # Trade-offs
//
// Each provider's tests are a process of their own, so that the output is their only common record.
// Cases are therefore recognized by the names of subtests, and suites by the numbers in them.
package matrix
