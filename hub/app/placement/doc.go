// Package placement decides which clusters of the fleet run an application.
//
// # Purpose
//
// Decide takes the placement of a spec, the clusters of the fleet and the clusters
// that currently run the application. It returns the clusters to run it on, those of them
// that it should leave and does not yet, and, for every other cluster, the reason for the
// rejection. A cluster must match all given criteria; without criteria every ready cluster
// matches. Preferences, weights and overrides select by the same criteria, and Matches reports
// what they select.
//
// # Non-goals
//
// The package uses no client, no clock and no randomness: the same input gives the same decision.
// Free capacity is a sum over nodes: whether a pod fits on one of them is the scheduler's decision, and a
// cluster without free capacity is not rejected. Placement does not replace a lost cluster: that is failover, which is
// also a decision about data.
//
// # Trade-offs
//
//   - A cluster that runs the application and is no longer ready stays chosen as long as
//     it matches. Otherwise a cluster that temporarily does not answer would delete the
//     application when it returns.
//   - A cluster that runs the application is exchanged for another only when a user edits the
//     placement, which is noticed by a hash of it in the status, or names a cluster with data: neither a cluster
//     that joins nor a preference moves what runs. A spread that is not met then is reported.
//   - If no cluster matches, the application stays where it is, and the decision reports
//     that: a typo in a name or a label must not delete a shop everywhere. A user who
//     wants that deletes the application.
//   - An application with a database leaves a cluster only if its user decided so: by an edit of
//     names, selector, regions or providers after which the cluster is not selected, or by an annotation that
//     names the cluster. A label, a taint or a drain is a decision about the cluster, by someone who may know
//     nothing of the data. Neither does an edit of maxClusters or spread name the cluster whose data it
//     costs, and an edit of anything else must not be one of them: what exceeds a bound stays, and
//     takes a place. The annotation exchanges it, without an edit. It counts once: where nothing makes the
//     application leave, Decision.Unused says so, and the hub removes it.
//   - What serves customers is left when the other chosen clusters serve them, so that the application
//     may run in more clusters than maxClusters for that time. Clusters that do not respond, are paused
//     or wait for a user are not waited for, or a drain would not end. One that is to be left and
//     does not respond may serve. An edit counts as one until then, because nothing else tells what it
//     asked for. Where replicas are divided, those clusters serve once as many pods are ready as they get without
//     the one that is left, which keeps its own until then, so that more pods run for that time. An
//     override may replace a share, which only the spec of the copy tells, so that such a cluster just has to serve.
//     Data does not wait with an edit: two databases of one shop would diverge.
//   - Where the last decision is not known, nothing was edited: a hub that was restored without
//     statuses neither leaves data nor exchanges clusters.
//   - A spread is met greedily, the best cluster first, and while a minimum is not met, one of
//     another domain first. Another choice might meet more of several limits at once; finding it is a
//     search among all choices. Clusters of the same domains are one group, so that each step looks at
//     the groups and not at the clusters (BenchmarkDecide).
//   - Free capacity ranks the clusters that do not run an application, after its spread and preferences
//     and before the name. It changes with each pod, so it is compared in steps of a tenth, it moves
//     nothing that runs, and its changes wake no application. A cluster in which it is unknown comes last.
//   - Replicas are divided by the method of Sainte-Lague, and not by the largest remainder. Both round
//     to the nearest, and their shares seldom differ. With the largest remainder a cluster may lose a
//     replica when the total rises, and one that joins may move replicas between two others, so that it
//     cannot be had together with shares that only rise with the total. Sainte-Lague gives one replica
//     after the other, so that it starts from nothing or from present shares alike.
//   - Shares by weights are a function of the spec and the clusters. Those by free capacity depend on the
//     present ones, which the status has, or each change of capacity would move pods: they change with the
//     total, the clusters or an edit of the placement. A status that was lost is divided anew, and so is each
//     edit of the spec while an edit of the placement waits for clusters that are to serve. Capacity is up to a
//     minute old; replicas that were added since count with their shares.
//   - A toleration with seconds does not let an application in: it would leave again.
//   - If the application runs on more clusters than maxClusters allows after an edit, ready clusters
//     are kept first, so that an unreachable cluster does not displace a ready one.
//   - A detached cluster is never chosen, and nothing is deleted in it: the hub no
//     longer owns it.
//   - A selector sees the labels of the MemberCluster plus two observed ones:
//     topology.kubernetes.io/region and ecommerce.io/provider. Observed labels override
//     those of the MemberCluster, so that a selector and spec.placement.regions never
//     disagree. An unknown value adds no label.
//   - An event of one cluster asks each application whether it is affected: 10,000 times
//     for 10,000 applications (BenchmarkAffects: about a millisecond, without an
//     allocation). An index of placements by what they read would cost more to keep than
//     that scan, since readiness, which changes most often, concerns every placement.
//     Therefore selectors are evaluated here, without parsing them; a property test compares
//     that with apimachinery.
//   - Every rejected cluster gets the first reason that applies, in a fixed order (see
//     criteria.reject), so that reasons are stable. A status has their counts only
//     (Decision.Counts): a list of clusters would change in each application whenever a
//     cluster joins.
package placement
