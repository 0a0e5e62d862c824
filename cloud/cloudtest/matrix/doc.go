// Package matrix makes tables of the contract's cases and the providers, one for each
// suite.
//
// What: Read takes the output of go test -json of the packages that run the suites;
// Report.Markdown writes the tables, Report.Problems says what is wrong.
//
// Not: nothing is run, and nothing is known of the cases but their numbers and names.
//
// Trade-offs: the tables are read from what the tests have said, and not kept by them in
// memory, since each provider's tests are a process of their own.
package matrix
