// Package apierror decides what a controller does about an error of a Kubernetes API
// server.
//
// # Purpose
//
//   - Classify: returns the Class of an error, however it is wrapped.
//   - Decide: adds the policy of the class, and the reason and the message of a condition
//     that reports the error.
//   - Stable, Refusal: return messages of a cluster without what differs between attempts.
//
// # Non-goals
//
// The package uses no client, context, clock or logger. It does not spread waits: package retry
// adds jitter and shortens them for tests.
//
// # Trade-offs
//
// A policy or a webhook may deny a request with 403, 422, 400 or 413. None of these is
// final, since the denial can be lifted without a change of the object: all are retried
// every BlockedWait, besides the events that can end them.
//
// An API server that answers with InternalError, or to a server-side apply with the code alone, fails on that
// object: it cannot call a webhook, or a definition lacks a field. Its storage answers with the code alone, too,
// when it is away; the other objects then fail as well, which costs a request for each. A proxy that answers with
// the same code has no Status, and is an outage.
//
// A connection that is refused or lost is Unreachable and not NotConnected. The API server
// may be back before a probe notices, and then no event of the connection wakes the
// controller: the error is returned.
package apierror
