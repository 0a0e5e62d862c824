// Command mutants shows which tests notice the mutants of package mutants.
//
// # Purpose
//
// It runs one test for each mutant, in the module of the working directory, prints a table
// of those that fail as they must, and fails if a test passes. Each test runs once without a
// mutant before, and must pass: a test that fails anyway notices nothing. Arguments select
// mutants by ID.
//
// # Non-goals
//
// It does not run the whole suite without a mutant: `make test` does.
//
// # Trade-offs
//
// Mutants run one after the other, because most tests start a control plane.
package main
