// Package largefleet has the fleet that the page of kubectl shopfleet ui is measured with.
//
// # Purpose
//
// New returns 500 members in 20 regions, one of which does not answer, and 2,000 shops of the sample's size with a
// database in three clusters each. Each database has two Backups. Each shop gets a version of the pod templates, as after
// an upgrade of Shopfleet, and each tenth another revision too. One member is drained, and some backups and restores are
// under way.
//
// # Non-goals
//
// The fleet does not run: it is what a hub would have written. Nothing in it is random.
//
// # Trade-offs
//
// An API server accepts all objects, so that the time in which they are read is measured with the same fleet.
package largefleet
