// Package revisions stores the history of applications with a rollout, and says what a cluster has of an application.
//
// # Purpose
//
// Each revision of a spec is a ControllerRevision beside its application on the hub, as those of
// StatefulSets are. It is stored before the first cluster gets it, so that a copy that has it can be
// repaired after the spec has changed again. It belongs to the history once it was healthy in all
// clusters.
//
// Store.In returns the spec that a cluster has, by the revision that was decided for it, and Store.Propagated and
// Effective.AppClass what it needs beside its copy. Effective.DatabaseClass chooses the class of its volumes. They are asked for copies, storage classes,
// backups, restores, plans and the command line. So a cluster that joins an application that was rolled back gets all
// that its revision needs.
//
// # Non-goals
//
// The package does not decide which cluster has which revision: package hub/app/rollout does.
//
// # Trade-offs
//
//   - Nothing is watched. Revisions are read from the API server when the spec has another hash, and when
//     a cluster has one that is not in the spec. Those are remembered until no cluster has one.
//   - What spec.propagate lists applies at once, and is no part of a revision, but is stored with it: a cluster that has
//     an earlier revision needs both. Objects that were listed after the revision was stored are not known to belong to it.
//   - A revision keeps its number when the spec returns to it, unlike that of a StatefulSet: the number in
//     a status, or in a copy, always means the same.
//   - A revision that never was healthy is deleted when another one completes and no cluster has it. Until
//     then there may be more than HistoryLimit.
package revisions
