// Package placement decides which clusters of the fleet run an application.
//
// # Purpose
//
// Decide takes the placement of a spec, the clusters of the fleet and the clusters
// that currently run the application. It returns the clusters to run it on and, for
// every other cluster, the reason for the rejection. A cluster must match all given
// criteria; without criteria every ready cluster matches.
//
// # Non-goals
//
// The package uses no client, no clock and no randomness: the same input gives the same decision. Spread,
// scores and tolerations are not supported. Placement does not replace a lost cluster:
// that is failover, which is also a decision about data.
//
// # Trade-offs
//
//   - A cluster that runs the application and is no longer ready stays chosen as long as
//     it matches. Otherwise a cluster that temporarily does not answer would delete the
//     application when it returns.
//   - If no cluster matches, the application stays where it is, and the decision reports
//     that: a typo in a name or a label must not delete a shop everywhere. A user who
//     wants that deletes the application.
//   - If the application runs on more clusters than maxClusters allows, ready clusters
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
