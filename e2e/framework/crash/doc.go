// Package crash ends a process of the hub at one of its writes.
//
// # Purpose
//
// Process stands for one run of a program. Transports around those of all its clients hold each
// request that comes after its end, also those for its Lease, which therefore expires as that of
// a killed process does. Who tests chooses the write and the moment: before it is sent, after
// it is committed but before the process has the answer, or after that.
//
// # Non-goals
//
// Which writes are chosen, what comes after the end, and what must be true then: packages
// crashpoints (the whole hub, on a fleet) and backupenv (one reconciler, pass by pass) decide that.
//
// # Trade-offs
//
// The end of a Process does not end what the test's process shares, such as connections. A request
// that another goroutine has sent at that moment may still be committed, as after a real kill.
package crash
