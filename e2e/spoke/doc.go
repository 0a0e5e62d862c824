// Package spoke runs the spoke as cmd/spoke does, against a real control
// plane, with the permissions that we ship.
//
// # Purpose
//
// What a person sees of a spoke alone in a cluster: shops come up in order,
// are repaired, updated, scaled and deleted; an unchanged one costs no write.
//
// # Non-goals
//
// No hub, and no tables of decisions: those are tests of the packages.
//
// # Trade-offs
//
// The cases share one cluster, each in its own namespace, and run one
// after another, as some of them freeze parts of the cluster.
package spoke
