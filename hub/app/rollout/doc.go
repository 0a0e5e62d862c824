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
//   - The first revision goes to all clusters, as nothing runs yet. So does the one that was healthy last, which is
//     a rollback, whether the hub decides it or the user edits the spec.
//   - Each update records what its cluster was like before: whether it served customers, what was not ready, why it
//     needed a user. After an update that did not end (Superseded) that is what was before both. It is unknown where
//     a cluster has the revision when it is first observed: others wait for it, and it cannot fail.
//   - A cluster is healthy with a revision when it has it, serves, and nothing is worse than before: no component
//     that was ready is not, and no pods fail (Failures) that did not. Data that is copied, and pods or volumes
//     that are added, are neither worse nor setbacks.
//   - One cluster comes first, alone: the first by name, of the first region that has replicas, of which nothing is
//     bad. Then the regions follow in order, each when the clusters before it have been healthy for the soak time,
//     and never more than maxConcurrentClusters at once. Clusters without replicas prove nothing.
//   - A cluster that did not serve before is named and holds up nothing: it is neither first, nor busy, nor a proof,
//     gets the revision when that is proven, cannot fail, and is left behind if the deadline passes. Where
//     none serves, one tries the revision at once, and the next when that is left behind.
//   - A cluster whose database cannot be upgraded to the version of the revision is left behind at once: its copy stays.
//   - A cluster that served fails when it needs a user, is not healthy within the deadline, or ceases to be healthy
//     three times. A setback lapses after the soak time and the deadline in health.
//   - Time counts while this hub observes the cluster. It is stored as a sum when that ends, when it reaches a limit, and
//     every quarter of a limit, from 10 minutes to an hour: after a crash it is too small by less, and never too large.
//     The time in which data is copied does not count.
//   - Until a revision has been healthy in all clusters, one that was and is not any more is updated again. After
//     that a failure causes no rollback. A revision that a user asks for again is proven again.
//   - A cluster that does not respond, or is paused, is skipped, and updated in its turn when it is back. A rollback
//     ends without those, and without clusters that did not serve before.
//   - A new spec supersedes the rollout: clusters keep what they have until it is their turn, and those that are being
//     updated count until they are ready or fail.
//   - While a rollout is paused, no cluster begins and no failure causes a rollback; the user may still request one.
//   - A version of the pod templates follows the same rules (NextRendering), after any revision, and without a
//     way back: a failure stops the others.
//
// # Non-goals
//
// The package writes nothing and stores nothing. What a cluster serves is decided by its copy's own
// status, in the order of its components.
//
// # Trade-offs
//
//   - The state is part of the status, which is stored before any copy is written. A hub that crashes
//     resumes with the same clusters, and with sums of times that are not larger.
//   - The clusters of a rollback change all at once. Each changes its pods one by one, as in any update.
package rollout
