// Package rollout decides which clusters get a new revision of an application, and when.
//
// # Purpose
//
// A revision is the part of a spec that changes what runs: all but placement, rollout, propagate, deletion,
// spec.paused and the numbers of replicas. Template returns it with a hash, and Merge puts one into a spec.
// Next takes the last state of the rollout, what was observed of each cluster, and the time, and returns
// the next state and the revision that each cluster is to have.
//
// # Rules
//
//   - The first revision of an application is given to all clusters, as nothing runs yet. So is the one
//     that was healthy last, which is a rollback, whether the hub decides it or the user edits the spec.
//     While none has been healthy in all clusters, those that do not serve customers do not wait.
//   - One cluster comes first, alone: the first by name of the first region that has replicas, or of the next
//     regions if none has. Then the regions follow in order, each when all clusters before it have been ready
//     for the soak time. Clusters without replicas are the last of their region, and prove nothing.
//   - A cluster begins only while fewer than maxConcurrentClusters are being updated or do not serve
//     customers. One that does not serve customers already takes the place that it needs. If others wait
//     for it, it comes before its turn: the revision may be what repairs it.
//   - A cluster fails when it needs a user, when it is not ready within the deadline, or when it ceases to
//     be ready three times, as with a container that restarts again and again. A setback lapses when the
//     cluster was ready for the soak time and the deadline thereafter.
//   - Until a revision has been healthy in all clusters, one that has soaked and is not ready any more is
//     being updated again: it takes its place, and has the deadline. After that a failure does not cause a
//     rollback.
//   - A revision that a user asks for again proves healthy again, as if it never had been.
//   - A cluster that does not respond, or is paused, is skipped: it neither fails nor delays others, and
//     is updated in its turn when it is back. Its time counts anew then.
//   - A rollback ends when the clusters that it changes, and that respond, are ready at a time.
//   - A new spec supersedes the rollout in progress. Clusters keep what they have until it is their turn.
//     Those that are still being updated count until they are ready or fail.
//   - While a rollout is paused, no further cluster begins and no failure causes a rollback. A rollback that a
//     user requests is carried out all the same.
//
// # Non-goals
//
// The package writes nothing and stores nothing. What a cluster serves is decided by its copy's own
// status, in the order of its components.
//
// # Trade-offs
//
//   - The state is part of the status, which is stored before any copy is written. A hub that crashes
//     resumes with the same clusters and times.
//   - The clusters of a rollback change all at once. Each changes its pods one by one, as in any update.
package rollout
