// Package placement decides which clusters of the fleet run an application.
//
// # Purpose
//
// Decide takes the placement of a spec, the clusters of the fleet and those that run the application.
// It returns the clusters to run it in, those of them that it should leave and does not yet, and
// for every other cluster the reason for the rejection. A cluster must match all given criteria.
// Preferences, weights and overrides select by the same criteria: Matches reports what they select.
// Shares divides the replicas among the chosen clusters.
//
// # Non-goals
//
// No client, clock or randomness: the same input gives the same decision. Whether a pod fits on a
// node is the scheduler's decision: free capacity ranks clusters and rejects none. A lost
// cluster is not replaced: that is failover, which is also a decision about data.
//
// # Trade-offs
//
//   - What runs stays. A cluster that does not answer stays chosen while it matches. If none matches, the
//     application stays where it is: a typo must not delete a shop everywhere. Where the last decision
//     is not known, as after a restore without statuses, nothing was edited. Clusters are exchanged only
//     for an edit of the placement, which a hash in the status shows, or where a user names the
//     cluster: neither a cluster that joins nor a preference moves anything, and a spread that is not
//     met is reported.
//   - Data leaves a cluster if the application's user decided so: by an edit of names, selector,
//     regions or providers, or by an annotation that names the cluster and counts once. A label, a taint or
//     a drain is decided by someone who may know nothing of the data, and maxClusters and spread do
//     not name the cluster that it costs: what exceeds a bound stays, and takes a place.
//   - What serves customers is left when the other chosen clusters serve them, so that the application may
//     run in more than maxClusters for that time, with more pods where replicas are divided. Clusters
//     that do not respond, are paused or wait for a user are not waited for, or a drain would
//     not end. An edit counts as one until then. Data does not wait for it: two databases of one shop
//     would diverge.
//   - A spread is met greedily. Another choice might meet more of several limits at once; finding it
//     is a search among all choices.
//   - Free capacity changes with each pod. It is compared in steps of a tenth, moves nothing that
//     runs, and its changes wake no application. It is up to a minute old.
//   - Replicas are divided by the method of Sainte-Lague. With the largest remainder a cluster may
//     lose a replica when the total rises, and one that joins may move replicas between two others.
//   - Shares by weights are a function of the spec and the clusters. Those by free capacity depend on
//     the present ones, in the status, or each change of capacity would move pods. A status that was
//     lost is divided anew.
//   - A selector sees the observed region and provider in place of labels of these names, so that it
//     and spec.placement.regions never disagree. An unknown value adds no label.
//   - An event of one cluster asks each application whether it is affected, 10,000 in about a
//     millisecond. An index by what placements read would cost more to keep, since readiness
//     concerns them all. Therefore selectors are evaluated here without parsing; a property
//     test compares that with apimachinery.
//   - Reasons are stable: each rejected cluster has the first that applies. A status has only their
//     counts, or it would change in each application whenever a cluster joins.
package placement
