// Package matrix turns the output of go test -json into a table of cases and providers for each suite
// of the contract. Each provider's tests are a process of their own, so that the output is their only
// common record.
package matrix
