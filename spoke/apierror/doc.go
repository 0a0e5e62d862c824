// Package apierror decides what a controller does about an error of a Kubernetes API
// server.
//
// # Purpose
//
//   - Classify: returns the Class of an error, however it is wrapped.
//   - Decide: adds the policy of the class, and the reason and the message of a condition
//     that reports the error.
//
// # Non-goals
//
// The package uses no client, context, clock or logger. It does not spread waits: package queues
// adds jitter and shortens them for tests.
//
// # Trade-offs
//
// A policy or a webhook may deny a request with 403, 422, 400 or 413. None of these is
// final, since the denial can be lifted without a change of the object: all are retried
// every BlockedWait, besides the events that can end them.
//
// A connection that is refused or lost is Unreachable and not NotConnected. The API server
// may be back before a probe notices, and then no event of the connection wakes the
// controller: the error is returned.
package apierror
