// Package setup assembles the hub: flags, clients, caches, the fleet and the
// controllers. It is the only package that imports all of them.
//
// # Purpose
//
//   - Options are the hub's flags; those that hub and spoke share are in package
//     spoke/runtime/manager.
//   - Main runs the hub as a process: it sets up the logger and calls Run.
//   - Run runs the hub until its context is done. Tests may run several hubs in one
//     process.
//
// The hub's cache holds applications, members and the labelled Secrets of its own
// namespace. Leader election uses its own client, so that other traffic cannot delay the
// renewal of the Lease.
//
// # Non-goals
//
// The package decides nothing about applications or members, and handles no kubeconfig
// of a member.
//
// # Trade-offs
//
//   - The controllers are added once the API server serves their kinds with all fields of
//     this build. Until then the process is alive and not ready: a hub that is installed
//     before its CustomResourceDefinitions waits for them instead of crashing repeatedly, and
//     one whose image alone was replaced leaves the work and the Lease to the pods before. The
//     fields are read in the OpenAPI document, because that takes no permission. They are
//     not compared again: definitions of an older release that are applied later are not
//     noticed.
//   - Losing the Lease ends the process with an error, because the running controllers
//     must not write concurrently with the next leader. Until it has ended, a fence keeps
//     its requests from the hub's API server and from members. A signal ends it without error,
//     and releases the Lease.
//   - The reconcilers of copies are engaged only with members in mode Agentless. In mode
//     Agent the hub lacks the permissions to read the objects of a copy.
//   - A standby keeps no connections to members. It connects when it becomes the leader,
//     which takes seconds, and saves every member a second set of watches.
//   - The UID of the hub's own cluster is read before anything else starts, so that a
//     registration of that cluster is always rejected. While the hub's API server does
//     not answer, the hub serves nothing.
package setup
