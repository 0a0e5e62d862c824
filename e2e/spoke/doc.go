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
// The cases of TestSpoke share a cluster, each in its own namespace, and run some at a time. Those of TestSerial
// stop the spoke, freeze parts of the cluster or change what it serves, and run one after another in a cluster of
// their own.
package spoke
