// Package state has all that this process remembers of applications.
//
// # Purpose
//
// State is one struct with one lock. What is remembered of an application goes with one call of
// Forget, what is remembered of a connection to a member with Member.Close. The values are those
// that travel between the reconciler of applications and the queues of members: a Decision to
// the queues, a Result back.
//
// # Non-goals
//
// The package reads and writes no API, decides nothing, and wakes no queue: each method says what
// changed, and its caller acts on that.
//
// # Trade-offs
//
//   - One lock for all applications: each call holds it for a few map accesses. Where looks at all
//     applications with the lock held for reading, which takes milliseconds for 10,000.
//   - Nothing of it survives the process. After a restart a queue has no Decision and does nothing
//     until the first pass over the application has decided.
package state
