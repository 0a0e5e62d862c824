// Package quiesce holds the tests of hub/quiesce where it fails: on real API servers,
// with the permissions that ship, and with kubelets that do not answer.
//
// # Purpose
//
// Which pods are run in and which are not, what the hub's permissions in a member
// are enough for, and that whoever waits for an answer stops in time.
//
// # Non-goals
//
// Nothing is run in a container; package e2e/kind does that. What the commands do to
// databases is tested beside them.
//
// # Trade-offs
//
// One fleet serves all tests, each of which has a namespace of its own.
package quiesce
