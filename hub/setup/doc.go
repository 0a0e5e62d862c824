// Package setup composes the hub: flags, clients, caches, the fleet and the
// controllers. It is the only place that knows all of them.
//
// # What
//
//   - Options are the hub's flags; those that the spoke has too are in package operator.
//   - Main runs the hub as a process: it makes the process's logger and runs.
//   - Run runs the hub until its context ends. Tests run it beside others.
//
// The hub's cache holds applications, members and, of its own namespace, the
// labelled Secrets. Leader election has a client of its own, so that no other
// traffic can keep a lease from being renewed.
//
// # Not
//
// No decisions about applications or members. No kubeconfig of a member passes
// through here.
//
// # Trade-offs
//
//   - The controllers are added when the hub serves their kinds. Until then the
//     process is alive and not ready: a hub that is installed before its CRDs waits
//     for them instead of failing over and over.
//   - A lost lease ends the process with an error, since what still runs must not
//     write beside the next leader. A signal ends it without one, and gives the
//     lease back.
//   - What runs copies is engaged with members in mode Agentless alone. In mode Agent the
//     hub could not even read what a copy is made of.
//   - A standby keeps no connections to members. It connects when it leads, which
//     takes seconds, and saves every member a second set of watches.
//   - The UID of the hub's own cluster is read before anything else starts, because
//     a hub that registered itself must be refused from the first moment. While the
//     hub's API server does not answer, nothing is served.
package setup
