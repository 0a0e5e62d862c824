// Command matrix writes the tables of cases and providers of the contract as Markdown.
//
// # Purpose
//
// It reads the output of go test -json of the packages that run the contract, and ends with status 1
// if a case failed, is missing, or was skipped without a reason:
//
//	go test -json -run '^TestContract' ./cloud/... | go run ./cloud/cloudtest/cmd/matrix
//
// # Non-goals
//
// The command starts no tests and changes no file.
//
// # Trade-offs
//
// It writes the tables also when there are problems, so that a status of 1 comes with both.
package main
