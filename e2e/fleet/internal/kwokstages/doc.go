// Package kwokstages defines the behaviour of simulated nodes, pods, Ingresses and volumes.
//
// # Purpose
//
// KWOK stages. Nodes stay Ready; pods start at once, and those of Jobs complete; an image
// whose registry ends in the reserved domain .invalid cannot be pulled; claims get volumes
// of whatever StorageClass they name, grow, and take their volumes with them. Ingresses with a
// class get an address of this machine, unless the name of the class ends in .invalid.
//
// # Non-goals
//
// No process runs inside a pod. Readiness gates of pods are passed. Pods have no address,
// and Services therefore no endpoints.
//
// # Trade-offs
//
// Only the part of the storage driver is simulated. Binding, WaitForFirstConsumer and
// protection are left to the real controllers, which costs a second per claim and shows
// their true behaviour. A stage sees one object only, so every volume is deleted with its
// claim, whatever its StorageClass says.
package kwokstages
