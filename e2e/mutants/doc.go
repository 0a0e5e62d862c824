// Package mutants breaks the product on purpose, to show that the tests notice.
//
// # Purpose
//
// All returns the mutants: each replaces one place of one file by what a naive
// implementation would do, and names the test that must then fail. A Runner applies one to a
// copy of the file, and runs the test with go's -overlay, so that the tree stays as it is; and
// before that once without the mutant, when the test must pass.
// `make mutants` runs all of them and prints the table of e2e/README.md. A Report has the changes of single
// operators that gremlins makes for `make mutate`.
//
// # Non-goals
//
// The package makes no mutants by chance: a list made by hand says which mistakes matter, and
// gremlins finds the operators.
//
// # Trade-offs
//
// A place is found by its text. A test of this package fails when a change of the product
// moves the text, so that the list is kept with the code.
package mutants
