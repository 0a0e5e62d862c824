// The command objects is an object store that speaks S3, over TLS: a bucket in memory
// for tests on kind, whose key and certificate come from the environment.
//
// # Non-goals
//
// Nothing outlives it, and it holds what fits into memory.
package main
