// Package capacity sums what the nodes of a member cluster offer and what its pods request.
//
// # Purpose
//
//   - Nodes aggregates the nodes: provider, region, zones, capacity. Slim is the cache
//     transform for nodes.
//   - Requested sums what the pods on the nodes request.
//
// # Non-goals
//
// The package has no schedule and sets no conditions: the accessor of a member decides when to count.
//
// # Trade-offs
//
//   - Pods are listed and not watched: the memory and the events of all pods of hundreds of clusters
//     would be spent on a sum. Of a pod only what decides on its requests is decoded, which takes a
//     third of the time and a fifth of the garbage (BenchmarkRequested: 10,000 pods).
package capacity
