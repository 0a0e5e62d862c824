// Package placement decides which clusters of the fleet run an application.
//
// # Purpose
//
// Decide takes the placement of a spec, the clusters of the fleet and those that run the application.
// It returns the clusters to run it in, which of these the application is to leave later, and
// for every other cluster the reason for its rejection. A cluster must match all criteria of the placement.
// Preferences, weights and overrides select by the same criteria, which Matches evaluates.
// Shares divides the replicas among the chosen clusters.
//
// # Non-goals
//
// The package uses no client, clock or randomness: the same input gives the same decision. Free capacity
// ranks clusters and rejects none: the scheduler decides whether a pod fits. A lost
// cluster is not replaced: failover would also have to decide about data.
//
// # Trade-offs
//
//   - An application moves only after an edit of the placement, which a hash in the status shows, or if a
//     user names the cluster. A cluster that joins, a preference and an unmet spread move nothing. A
//     cluster that does not respond stays chosen while it matches. If no cluster matches, the application stays
//     where it is: a typo must not delete a shop everywhere. Without a status nothing counts as edited.
//   - Data leaves a cluster only if a user of the application decided that: by an edit of names, selector,
//     regions or providers, or by an annotation that names the cluster and counts once. Users who set labels,
//     taints or a drain may not know of the data, and maxClusters and spread do not name the cluster that would
//     lose it. A database therefore stays above these limits, and counts towards them.
//   - A cluster that serves customers is left when the other chosen clusters serve them. Until then more
//     clusters than maxClusters, and more replicas, may run. Clusters that do not respond, are paused or wait for a
//     user are not waited for: otherwise a drain might never end. A database does not wait either, because two
//     databases of one shop would diverge.
//   - A spread is met greedily: to meet several limits better would take a search among all choices.
//   - Free capacity is up to a minute old and compared in steps of a tenth. It moves nothing that runs, and its
//     changes enqueue no application.
//   - Replicas are divided by the method of Sainte-Lague. With that of the largest remainder a cluster might
//     lose a replica when the total rises. Shares by weights depend on the spec and the clusters only. Shares by
//     free capacity start from those in the status, or each change of capacity would move pods.
//   - A selector sees the observed region and provider in place of labels of these names, so that it
//     always agrees with spec.placement.regions.
//   - Each event of a cluster evaluates all placements: 10,000 take about a millisecond. Selectors are therefore
//     evaluated without parsing; a property test compares the result with apimachinery's.
//   - The status only counts rejected clusters by reason, or a cluster that joins would change every status.
package placement
