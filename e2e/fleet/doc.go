// Package fleet runs real Kubernetes control planes on one machine: a hub and its
// members, as the regions of a company that spreads over several clouds.
//
// # Purpose
//
// Start gives every cluster its own etcd and kube-apiserver, with TLS, RBAC and an audit
// log, and by its spec kube-controller-manager, kube-scheduler and nodes that KWOK
// simulates. Clusters can be killed, frozen, thawed and restarted to simulate the loss of a
// region, and etcd can be restored from a snapshot; the audit log has all requests to a
// cluster. Nothing is left when the fleet stops or its process ends.
//
//	f, err := fleet.Start(ctx, fleet.Options{
//		Hub:     fleet.ClusterSpec{Name: "hub"},
//		Members: []fleet.ClusterSpec{{Name: "eu-1", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 3}},
//	})
//	defer f.Stop(ctx)
//
// Tests use package fleettest, people the command in cmd/fleet.
//
// # Non-goals
//
// No container runs, there is no pod network, and no cloud. Package kwokstages describes the
// simulation. A fleet is not for production.
//
// # Trade-offs
//
// envtest has no controller manager, scheduler or nodes, and kwokctl's clusters outlive a test that is killed; neither
// freezes a cluster. On macOS the programs are envtest's.
//
// Processes instead of containers need nothing but Go and start in seconds, but share the
// machine's clock and network. etcd speaks plain HTTP on the loopback interface and skips
// fsync: a killed process loses nothing, a machine that loses power does. Nodes send no
// heartbeats, and none are expected: an idle fleet stays idle, a cluster that was frozen for
// long loses no pods, and a killed simulator leaves its nodes Ready.
package fleet
