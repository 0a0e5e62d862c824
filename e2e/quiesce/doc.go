// Package quiesce holds the tests of hub/quiesce where it fails: on real API servers,
// with the permissions that ship, and with kubelets that do not answer.
//
// # Purpose
//
// The tests check in which pods commands run and in which not, that the hub's permissions in
// a member are enough, and that the hub stops waiting in time.
//
// # Non-goals
//
// The suite runs nothing in containers: package e2e/kind does. The effect of the commands on
// databases is tested in package spoke/render/database.
//
// # Trade-offs
//
// One fleet serves all tests, each of which has a namespace of its own.
package quiesce
