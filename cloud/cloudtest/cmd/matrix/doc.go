// Command matrix reads the output of go test -json of the packages that run the
// contract, and writes the tables of cases and providers as Markdown. It ends with
// status 1 if a case failed, is missing, or was skipped without a reason.
//
//	go test -json -run '^TestContract' ./cloud/... | go run ./cloud/cloudtest/cmd/matrix
package main
