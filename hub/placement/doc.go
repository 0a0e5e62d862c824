// Package placement decides which clusters of the fleet run an application.
//
// # What
//
// Decide takes the placement of a spec, the clusters of the fleet and the
// clusters that the application is on now, and returns the clusters to be on
// and, for every other one, the reason why not. All criteria that are given
// must hold; none given means every ready cluster.
//
// # Not
//
// No client, no clock, no randomness: the same input gives the same decision.
// Spread, scores and tolerations come with later fields of the placement. A
// cluster that is lost is not replaced here: that is failover, and it is a
// decision about data too.
//
// # Trade-offs
//
//   - A cluster that the application is on and that stopped being ready stays
//     chosen as long as it still matches. Taking the application away from a
//     cluster that merely does not answer would delete it when the cluster
//     returns.
//   - Where no cluster matches, the application stays on those that it is on,
//     and the decision says so: a slip in a name or a label must not take a shop
//     down everywhere. Who wants that deletes the application.
//   - Where the application is on more clusters than maxClusters allows, those that are
//     ready stay first: one that does not answer is no reason to delete one that does.
//   - A detached cluster is never chosen, and nothing is deleted there: it has
//     left the fleet, so it is not ours to clean.
//   - The labels that a selector sees are those of the MemberCluster plus two
//     facts: topology.kubernetes.io/region and ecommerce.io/provider. Where a
//     label of the MemberCluster says otherwise, the fact wins, so that a
//     selector and spec.placement.regions never disagree. An unknown fact adds
//     no label.
//   - Every cluster gets the first reason that applies, in a fixed order (see
//     the table at reject), so that reasons do not flicker between equals.
package placement
