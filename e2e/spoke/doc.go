// Package spoke runs the spoke as cmd/spoke does, against a real control
// plane, with the permissions of config/rbac.
//
// # Purpose
//
// The tests check what a user sees of a spoke alone in a cluster: applications are created in
// order, repaired, updated, scaled and deleted; an unchanged one costs no write.
//
// # Non-goals
//
// The suite starts no hub. Decisions are tested with tables in their packages.
//
// # Trade-offs
//
// The cases share one cluster, each in its own namespace, and run one
// after another, as some of them freeze parts of the cluster.
package spoke
