// Package metrics exports the state of each member and of each application as metrics.
//
// # Purpose
//
// The gauges name the member, the application and its cluster, so that an alert does. They
// are computed from the informer caches of MemberClusters and EcommerceApps at each scrape.
// An object that is deleted, a cluster that an application leaves and credentials that no
// longer expire have no series from the next scrape on, and no controller has to delete any.
//
// # Non-goals
//
// The package counts no events: rates and latencies belong to the controllers. It exports
// neither messages nor timestamps of observations, which would make a series of each change.
//
// # Trade-offs
//
//   - A scrape reads the caches without a request to an API server and without copying what
//     the objects refer to. Before the caches are synchronized there is no series.
//   - A standby of the hub has the caches as well and reports the same state: queries take
//     the maximum over the pods.
//   - A cluster with an outdated status has shopfleet_app_stale 1, and shopfleet_app_ready,
//     shopfleet_app_available and shopfleet_app_degraded 0 instead of no series: the table of
//     a dashboard shows it, and an alert can leave it to the member's alert.
//   - The lag is measured at the slowest replica, which no label names: the number of series does
//     not grow with the number of replicas, and the status of the copy names them.
//   - shopfleet_app_database_lost has a series only where data is lost. It stays while the cluster
//     does not answer: what was lost is so until the opposite is observed.
//   - The number of series is bounded by the fleet: at most six for a member, three for an
//     application and six for an application in a cluster. One of each of the last two exists only
//     while the status is rejected, or the data is lost.
package metrics
