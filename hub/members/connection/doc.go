// Package connection makes and holds one connection to a member cluster, with its
// informers.
//
// # What
//
//   - Attempt.Connect goes from a checked kubeconfig to a Session whose caches are in
//     sync, or to the stage and the reason of its failure: probe, identity,
//     permissions, preparation, caches.
//   - Session.Engage hands the cluster to the hub's reconcilers; Probe, Inspect, Nodes
//     and, in mode Agent, Sign say how it is from then on.
//
// # Not
//
// No retries, no schedule and no state over sessions: that is the fleet's.
//
// # Trade-offs
//
//   - Everything is new with each session: transport, discovery, caches. What an outage
//     left behind in one cannot harm the next.
//   - Optional APIs are no matter of the session: who watches a kind that some
//     clusters do not have must not list it among what is waited for.
package connection
