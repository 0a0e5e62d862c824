// Command mutate changes single operators of packages with gremlins, and shows which changes the
// packages' own tests do not notice.
//
// # Purpose
//
// `make mutate PACKAGES=<patterns>` runs it. It copies what belongs to the repository to a temporary folder,
// has gremlins mutate each package there, and prints the changes that no test noticed and the share of
// those that one did. It fails if the share is below the mark. SAMPLE=<n> changes as many sites of each
// package, which SEED=<n> selects, and GOTEST_FLAGS=-skip=<tests> leaves slow tests out.
//
// # Non-goals
//
// Mistakes that a person would make: the list of package mutants has these. Tests of other packages
// do not count: a decision is proved where it is made.
//
// # Trade-offs
//
//   - A change that makes a test run too long counts as noticed, and is counted apart. One that does not compile does not count:
//     gremlins reads only the exit code of go test, which is that of a failed test, so that it calls go by a
//     script that tells the two apart.
//   - Gremlins leaves changes out where the coverage says that no test runs the line, and the coverage of go says
//     so of each condition of a case. The script has it take all lines for covered.
//   - Each change is compiled, linked and tested alone, which takes seconds. A seed selects a sample, so that
//     a run of a package repeats the last one.
package main
