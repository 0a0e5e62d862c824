// Package rollout decides which clusters get a new revision of an application, and when.
//
// # Purpose
//
// A revision is the part of a spec that changes what runs: all but placement, rollout, propagate, deletion,
// spec.paused and the numbers of replicas. Template returns it with a hash, and Merge puts one into a spec. Next takes
// the last state, what was observed of each cluster, and the time. It returns the next state and the revision that each
// cluster is to have.
//
// # Order
//
//   - The first revision goes to all clusters. So does the one that was healthy last, which is a rollback, whether the
//     hub decides it or the user edits the spec.
//   - Otherwise one cluster proves the revision alone: the first by name, of the first region, that has replicas and of
//     which nothing is bad. Then the regions follow in order, each when those before it have been healthy for the soak
//     time, and never more than maxConcurrentClusters at once.
//   - A cluster that did not serve customers is no proof and holds up nothing: it gets the revision when that is proven.
//     Where none serves, one tries it, and the next when that is left behind. One that serves with a component that is
//     not ready is no proof either, and has its turn like the others.
//   - Clusters that cannot have their turn keep what they have (Cluster: SetAside, Waiting, Refused), and so do all
//     others while the rollout is paused, or when a new spec supersedes it.
//
// # Health and failure
//
//   - Each update records what its cluster was like before. The cluster is healthy with the revision when it serves
//     customers and nothing is worse than before (isHealthy).
//   - It fails when it needs a user, is not healthy within the deadline, or ceases to be healthy three times. Then the
//     revision is taken back everywhere (mayRollBack). A cluster that did not serve before, or is as bad as before, is
//     left behind instead.
//   - Time counts while this hub observes the cluster and no data is copied. After a crash the stored sum may be too
//     small, and is never too large (untilStored).
//   - The rollout is complete when all clusters that it waits for are healthy. No later failure causes a rollback.
//
// A version of the pod templates follows the same rules (NextRendering), after any revision, and without a way back.
//
// # Non-goals
//
// The package writes nothing and stores nothing. What a cluster serves is decided by the status of its copy.
//
// # Trade-offs
//
//   - The state is part of the status, which is stored before any copy is written. A hub that crashes resumes with the
//     same clusters.
//   - The clusters of a rollback change all at once. Each changes its pods one by one, as in any update.
package rollout
