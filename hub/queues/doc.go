// Package queues has the queues of the hub's controllers: how they are woken, how long
// they wait, and how those that talk to a network are kept apart.
//
// # What
//
//   - Keyed is a controller with a queue and workers of its own for each key: a member
//     or an account, none of which waits for another.
//   - Wakeup adds to the queue of a controller from outside of it.
//   - NewRateLimiter and Later spread attempts, so that what failed together does not
//     try again together.
//
// # Not
//
// No reconciler, and no knowledge of what is reconciled.
//
// # Trade-offs
//
//   - A queue is made when its key is first named and ends with the process: there are
//     as many as there are members, and an idle one costs a few kilobytes.
package queues
