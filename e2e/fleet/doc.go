// Package fleet runs real Kubernetes control planes on one machine: a hub and its
// members, as the regions of a company that spreads over several clouds.
//
// What: Start gives every cluster its own etcd and kube-apiserver, with TLS, RBAC
// and an audit log, and by its spec kube-controller-manager, kube-scheduler and
// nodes that KWOK simulates. Clusters can be killed, frozen, thawed and restarted
// to play the loss of a region, and counted on: what each was asked is in its
// audit log. Nothing is left when the fleet stops or its process ends.
//
//	f, err := fleet.Start(ctx, fleet.Options{
//		Hub:     fleet.ClusterSpec{Name: "hub"},
//		Members: []fleet.ClusterSpec{{Name: "eu-1", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 3}},
//	})
//	defer f.Stop(ctx)
//
// Tests use package fleettest, people the command in cmd/fleet.
//
// Not: no container runs, no packet flows between pods, and no cloud answers.
// Package kwokstages says what the simulation does. A fleet is not for production.
//
// Trade-offs: processes instead of containers need nothing but Go and start in
// seconds, but share the machine's clock and network. etcd speaks plain HTTP on the
// loopback interface and skips fsync: a killed process loses nothing, a machine
// that loses power does. Nodes send no heartbeats, and none are expected: an idle
// fleet stays idle, a cluster that was frozen for long loses no pods, and a killed
// simulator leaves its nodes Ready.
package fleet
