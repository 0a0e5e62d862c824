// Package stepresult says what an error of a cloud means to a controller: what to tell
// people, whether to go on, and when.
//
// # What
//
// A Verdict is what stands in the way of an object; Judge makes one of an error by its
// class alone. Messages are the same for the same trouble, since they end up in a status.
//
// # Not
//
// No status is written here, and nothing is retried.
package stepresult
