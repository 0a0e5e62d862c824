// Package health computes the conditions of a member cluster.
//
// # Purpose
//
//   - Compute: derives the conditions from an observation and the previous conditions.
//   - Credentials: decides when credentials are renewed and when their expiry is reported.
//   - LeaseMonitor: derives the state of an agent from successive reads of its Lease.
//
// # Non-goals
//
// The package uses neither network nor clock, and has no state.
//
// # Trade-offs
//
// What was verified before a member was lost stays in its conditions: when a cluster
// stops answering, only Connected and Ready change, because nothing else is known to
// have changed. The state of its agent becomes Unknown.
package health
