// Package fencing keeps a process from writing once its Lease may have another holder, and while a
// user has paused a cluster.
//
// # Purpose
//
//   - Fence.Wrap wraps the transports of all clients of a process, and records when the
//     Lease was renewed last. A request that changes something, or runs a command in a pod,
//     is sent only while that is less than the renew deadline ago, which ends before a
//     standby may take the Lease.
//   - Fence.WrapCloud does the same for all requests to clouds.
//   - Pause.Wrap wraps the transports of the clients of one cluster. While the cluster is paused
//     they send what stores nothing: reads, reviews of access and of tokens, requests for
//     tokens, and dry runs.
//
// A process that was stopped, or that lost its API server for that long, therefore sends
// nothing more until it has renewed its Lease, which it cannot do after a standby took it.
//
// # Non-goals
//
// The package does not end the process: leader election does. What was on its way when the
// process stopped may still arrive; applies carry a resource version for that, and requests to
// clouds the token of the object that they are for. A stream to a pod is fenced when it is
// opened, and not while it is open: a hold of MySQL ends by itself in the pod after a minute.
//
// # Trade-offs
//
//   - The age of a renewal is the longer one of what the monotonic clock and the wall clock
//     say. The monotonic clock of Go goes on while a process is stopped by SIGSTOP, and no
//     adjustment of the time moves it; but it stands still while the machine is suspended.
//     The wall clock is right again after that. A step of it forwards fences the process
//     until the next renewal, a second later at most; a step backwards changes nothing.
//     A virtual machine that is paused without its clocks noticing is not fenced; what it
//     applies is older than what it replaces, and is rejected for that.
//   - The body of a request is checked as well when it is read: a request may wait for a
//     connection after its transport was called, and the API server acts on nothing before
//     it has the body.
//   - Reviews of access and of tokens are sent always. They change nothing, and a standby
//     needs them to serve its metrics.
package fencing
