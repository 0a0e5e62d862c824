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
//   - Each update records what its cluster was like before it: whether it served customers, which components were
//     not ready, and why it needed a user. Where it supersedes an update that has not ended, that is what was before
//     that one (Superseded). It is unknown where a cluster has the revision when it is first observed: others wait
//     for it, it cannot fail, and nothing that is not ready is excused.
//   - A cluster is healthy with a revision when it has it, serves customers, and nothing is worse than before: no
//     component that was ready is not, and the pods of none fail (Failures) that did not. A database that copies
//     data, or waits for pods or volumes that are added, is not worse, and nothing is a setback meanwhile.
//   - One cluster comes first, alone: the first by name of the first region that has replicas, or of the next
//     regions if none has, and of which nothing is bad. Then the regions follow in order, each when all clusters
//     before it have been healthy for the soak time. Clusters without replicas are the last of their region, and
//     prove nothing.
//   - A cluster begins only while fewer than maxConcurrentClusters are being updated that served before.
//   - A cluster that does not serve customers before its update, as one that joins, is named and holds up nothing:
//     it is neither first, nor busy, nor a proof, gets the revision when that is proven, and cannot fail. If it is
//     not healthy within the deadline, it is left behind. Where no cluster serves, one tries the revision at once, and
//     the next when that is left behind.
//   - A cluster that served fails when it needs a user, when it is not healthy within the deadline, or when it ceases
//     to be healthy three times, as with a container that restarts again and again. A setback lapses when the
//     cluster was healthy for the soak time and the deadline thereafter.
//   - Time counts while this hub observes the cluster. When that ends, or reaches a limit, what has passed is added to a
//     sum in the state, and every quarter of a limit, from 10 minutes to an hour, before. After a crash the sum is too
//     small by less than that, and never too large. The time in which data is copied does not count.
//   - Until a revision has been healthy in all clusters, one that has soaked and is not healthy any more is
//     being updated again: it takes its place, and has the deadline. After that a failure does not cause a
//     rollback.
//   - A revision that a user asks for again proves healthy again, as if it never had been.
//   - A cluster that does not respond, or is paused, is skipped: it neither fails nor delays others, and
//     is updated in its turn when it is back. Its time goes on then.
//   - A rollback ends when the clusters that it changes, that respond, and that served before, have the revision and
//     serve at a time.
//   - A new spec supersedes the rollout in progress. Clusters keep what they have until it is their turn.
//     Those that are still being updated count until they are ready or fail.
//   - While a rollout is paused, no further cluster begins and no failure causes a rollback. A rollback that a
//     user requests is carried out all the same.
//   - A version of the pod templates that this hub renders is rolled out by the same rules (NextRendering), with the
//     version as its revision. No cluster begins with it while a revision is being rolled out, and there is no way
//     back: a failure stops the others. Clusters in which no pod would be replaced are no part of it.
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
