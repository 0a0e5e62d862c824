// Package members keeps the hub connected to its member clusters.
//
// # Purpose
//
// Fleet is a multicluster-runtime provider. The MemberCluster controller declares members (Set,
// Remove); the fleet connects to each, engages the hub's reconcilers for it, and reports its state
// (State). One goroutine for each member makes the decisions. It runs every request
// in another goroutine, so that it never waits for the network:
//
//	connect  parse the kubeconfig, probe, verify identity and permissions, claim the record,
//	         install the definitions, sync the caches
//	engage   hand the cluster to the manager, with a context of its own
//	probe    once per period, uncached; failures in a row mean lost
//	watch    only errors for the lists and watches of a kind for 90 s mean lost: the cache is outdated
//	inspect  each minute, and when a kind is no longer served: record, permissions, version,
//	         capabilities, definitions; failures in a row mean lost
//	pods     each minute: sum what pods request
//	listen   in mode Agent, once per period: read the agent's Lease; without a renewal for 40 s the
//	         member is not Ready, but stays engaged
//	renew    at half of the life of a token: request another one, connect with it once, and offer it
//	lose     end the context, which stops informers and reconcilers; keep the last state and
//	         reconnect from scratch
//
// In mode Agentless the hub reconciles the workloads, and watches and requires what that takes. In
// mode Agent it watches, checks and requires less, and writes no definitions. A change of mode
// reconnects with the other profile; the hub leaves a member to its agent only once the agent's
// Lease is being renewed.
//
// A changed kubeconfig, renewed tokens included, is connected, verified and engaged before the old
// connection ends, which stays if that fails. An empty one withdraws access and ends the connection.
//
// A member whose credentials cannot read a required kind is not engaged, because informers would
// never sync. One that cannot be written is engaged, so that its state is known, and is not Ready.
// The same holds while a definition is being deleted: its objects are only gone after the hub's
// reconcilers have removed their finalizers. Once it is gone the member is lost; reconnecting
// installs it, and reconcilers recreate the objects.
//
// # Non-goals
//
// The package touches no objects of the hub: no Secrets, MemberClusters or events. In a member it
// writes its record and, in mode Agentless, the definitions of Prepare.
//
// # Trade-offs
//
//   - The kubeconfig provider of multicluster-runtime is not used: there, one member that hangs
//     blocks the others, a changed kubeconfig is used unverified, and one may run programs.
//   - The record is read with each inspection and not watched: after a takeover a former leader may
//     go on for a minute, in which its fence and the versions in its writes keep it from overwriting
//     anything.
//   - The UID of the namespace kube-system is the cluster's identity, compared with every probe.
//   - Reconnecting lists everything again. Informers that outlive an outage would keep goroutines
//     and connections for members that may never return.
package members
