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
// A member has a mode. In mode Agentless the hub works there itself, and needs and
// watches what that takes. In mode Agent somebody else does: less is watched, checked
// and needed, the definitions are compared and not written, and the agent is listened
// to. A change of the mode is a connection anew with the other settings.
//
//	listen   each period: the agent's Lease, whose changes are signs of life; 40 s
//	         without one make the member not Ready, while it stays engaged
//
// A changed kubeconfig is connected and verified first and swapped second. A bad one
// is said in a condition while the old connection goes on. So it is with a mode: an
// agent must be heard before anything is left to it. An empty one is a
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
// written to a member but the definitions of Prepare, in mode Agentless.
//
// # Trade-offs
//
//   - multicluster-runtime's own kubeconfig provider is not used: there one member
//     that hangs blocks the others, a changed kubeconfig is swapped before it is
//     proven, and a kubeconfig may run programs.
//   - Identity is the UID of the namespace kube-system, compared with each probe. It
//     cannot be changed without making the cluster anew.
//   - Whether an agent lives is seen by whether its Lease changes between two looks, and
//     not by the time in it: the hub's clock and the member's need not agree. The price
//     is that one look tells nothing, and a start of the hub a second or two of not
//     knowing, in which the status stays what it was.
//   - A hub that starts while an agent is wanted that has never been there has nothing
//     to hold on to: it engages the member in mode Agent, which is not Ready and says
//     why. Running the shops without one until then would take a third state, kept
//     somewhere, for a time that people should end.
//   - Looking costs each member with an agent one small request a period. A watch would
//     cost one connection and an event every two seconds.
//   - A definition is old when it lacks a field that the hub may write, since that is
//     dropped without a word. What else differs does not matter, so that hub and agents
//     are upgraded in any order where no field was added.
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
