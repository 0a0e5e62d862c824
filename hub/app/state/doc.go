// Package state has all that this process remembers of applications.
//
// # Purpose
//
// State holds it behind one lock. Forget drops everything about an application, and Member.Close
// everything about a connection to a member. The reconciler of applications hands a Decision to
// the queues of members, and each queue returns a Result.
//
// # Non-goals
//
// The package reads and writes no API, decides nothing, and wakes no queue: each method says what
// changed, and its caller acts on that.
//
// # Trade-offs
//
//   - One lock for all applications: each call holds it for a few map accesses, or for those of one member's
//     applications. Where looks at all with the lock held for reading, which takes milliseconds for 10,000.
//   - Nothing of it survives the process. After a restart a queue has no Decision and does nothing
//     until the first pass over the application has decided.
package state
