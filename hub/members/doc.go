// Package members keeps the hub connected to its member clusters.
//
// # What
//
// Fleet is a multicluster-runtime provider. The controller of MemberClusters says
// which members there should be (Set, Remove); the fleet connects, engages the
// hub's reconcilers for each member that works, and says how each one is (State).
//
// Each member has an accessor: one goroutine that decides, which starts what asks
// the network in goroutines of its own and never waits for the network itself.
//
//	connect  kubeconfig -> probe -> identity -> permissions -> Prepare -> caches synced
//	engage   the manager gets the cluster only then, with a context of its own
//	probe    each period, uncached; so many failures in a row mean lost
//	lose     the context ends, informers and reconcilers of that member stop, its last
//	         state is kept, and connecting starts anew with a fresh connection
//	inspect  each minute: permissions, version, capabilities, definitions; and at once
//	         when an informer is told that its kind is not served
//
// A changed kubeconfig is connected and verified first and swapped second. A bad one
// is said in a condition while the old connection goes on. An empty one is a
// withdrawal, and ends it.
//
// A member that lacks permission to read something is not engaged, since its
// informers would never sync. One that lacks permission to write is engaged, so that
// its state is known, and is not Ready.
//
// A definition that is deleted on a member takes all objects of its kind with it. While
// the member deletes it, the member stays engaged and is not Ready: the objects end only
// when the hub's reconcilers have cleaned up after them. When it is gone, the member is
// lost, with a message that names the definition; connecting anew installs it, and the
// hub's reconcilers make again what should be there.
//
// # Not
//
// No objects of the hub: no Secrets, no MemberClusters, no events. Nothing is
// written to a member but the definitions of Prepare.
//
// # Trade-offs
//
//   - multicluster-runtime's own kubeconfig provider is not used: there one member
//     that hangs blocks the others, a changed kubeconfig is swapped before it is
//     proven, and a kubeconfig may run programs.
//   - Identity is the UID of the namespace kube-system, compared with each probe. It
//     cannot be changed without making the cluster anew.
//   - A reconnection lists everything again. Keeping informers over an outage would
//     save that, and keep goroutines and connections of members that may never return.
//   - The loss of a definition is noticed by its informers, whose list is answered with
//     404, and proven by reading the definition's metadata. That costs no request while
//     nothing is wrong, where a watch on definitions would cost each member one more, and
//     polling four requests a minute. That a definition is being deleted while objects
//     hold it up is noticed by the inspection alone, up to a minute later.
//   - Recovery takes as many successes in a row as the health says, a period apart; the
//     first connection in a process takes one, so that a restart is quick.
package members
