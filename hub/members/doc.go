// Package members keeps the hub connected to its member clusters.
//
// # Purpose
//
// Fleet is a multicluster-runtime provider. The MemberCluster controller declares
// the members (Set, Remove). The fleet connects to each of them, engages the hub's
// reconcilers for every reachable member, and reports each member's state (State).
//
// Each member has an accessor: one goroutine that makes the decisions. It runs every
// network request in a separate goroutine, so that it never waits for the network.
//
//	connect  parse the kubeconfig, probe, verify identity and permissions, claim the
//	         record, install the definitions, sync the caches
//	engage   hand the cluster to the manager, with a context of its own
//	probe    uncached, once per period; a number of consecutive failures means lost
//	watch    nothing but errors for lists and watches of a kind, for 90 s, means lost as
//	         well: the cache is outdated
//	lose     end the context, which stops the member's informers and reconcilers; keep
//	         the last state and reconnect from scratch
//	renew    when half of the life of a token has passed: request another one with the
//	         current one, connect with it once, and offer it; see Renewed
//	inspect  each minute: record, permissions, version, capabilities, definitions; immediately
//	         when an informer reports that its kind is no longer served. As many consecutive
//	         failures as of probes mean lost
//	pods     each minute: list the pods in pages, and sum what they request. A failure changes
//	         nothing
//
// A member has a mode. In mode Agentless the hub reconciles the workloads itself, and
// watches and requires what that takes. In mode Agent an agent does; the hub then
// watches, checks and requires less, compares the definitions without writing them,
// and monitors the agent. A change of mode reconnects with the other profile.
//
//	listen   once per period: read the agent's Lease; without a renewal for 40 s the
//	         member is not Ready, but stays engaged
//
// A changed kubeconfig is connected, verified and engaged before the old connection ends, and
// if the new one cannot be engaged, the old one stays. For a moment both are engaged under one
// name: reconcilers use the new one from then on, and their workers start on it when the
// workers of the old one have ended. An invalid one is reported in a condition while the old connection
// continues. Modes work alike: the hub leaves a member to its agent only once the agent's Lease is being
// renewed. An empty kubeconfig withdraws access and ends the connection.
//
// The hub renews the tokens of the account that the Target names. A renewed kubeconfig
// takes effect when the MemberCluster controller has stored it and sets it, like any
// other changed kubeconfig: the connection with the old token serves until then.
//
// A member whose credentials cannot read a required kind is not engaged, because its
// informers would never sync. A member whose credentials cannot write is engaged, so
// that its state is known, and is not Ready.
//
// Deleting a definition in a member deletes all objects of its kind. While that is in
// progress, the member stays engaged and is not Ready: the objects are deleted only
// after the hub's reconcilers have removed their finalizers. Once the definition is
// gone, the member is lost with a message that names the definition; reconnecting
// installs it again, and the hub's reconcilers recreate the objects.
//
// # Non-goals
//
// The package reads and writes no objects in the hub: no Secrets, MemberClusters or
// events. In a member it writes its record and, in mode Agentless, the definitions of
// Prepare.
//
// # Trade-offs
//
//   - The kubeconfig provider of multicluster-runtime is not used: there, one member
//     that hangs blocks the others, a changed kubeconfig is used before it is verified,
//     and a kubeconfig may run programs.
//   - The record is read when a member is connected and with each inspection, and not
//     watched: after a takeover a former leader may go on for a minute, in which its fence
//     and the versions in its writes keep it from overwriting anything.
//   - The UID of the namespace kube-system is the cluster's identity and is compared
//     with every probe. It changes only when the cluster is recreated.
//   - An agent is alive if its Lease changes between two reads. The timestamps in the
//     Lease are not compared with the hub's clock, so clock skew does not matter. The
//     cost: a single read proves nothing, and for a second or two after a start of the
//     hub the previous status is kept.
//   - If a hub starts while mode Agent is requested and no agent was ever installed, it
//     engages the member in mode Agent, which is not Ready and says why. Reconciling
//     without an agent until then would need a third, persisted state for a situation
//     that an administrator should end.
//   - Polling the Lease costs one small request per period for each member with an
//     agent. A watch would cost one connection, and an event every two seconds.
//   - A definition is outdated if it lacks a field that the hub may write, because the
//     API server prunes such fields silently. Other differences do not matter, so that
//     hub and agents can be upgraded in any order if no field was added.
//   - A renewed token is connected twice, once before and once after it is stored: a
//     token that is in use but not stored would be lost with the process. The connection
//     with it lists everything again, twice in the life of a token.
//   - Reconnecting lists everything again. Keeping informers during an outage would
//     avoid that, but would keep goroutines and connections for members that may never
//     return.
//   - The loss of a definition is detected by its informers, whose requests return 404,
//     and confirmed by reading the definition's metadata. That costs no request in
//     normal operation, whereas a watch on definitions would cost one more for each
//     member, and polling four requests a minute. A definition whose deletion is
//     blocked by objects is only detected by the inspection, up to a minute later.
//   - Refused lists and watches are counted from their responses, which costs no request.
//     Reflectors do not report all of them, and an accepted watch proves a cache current
//     only while it lasts. A member that is listed but never watched is lost, and
//     connected again, every 90 s; each time the hub lists everything again.
//   - Recovery requires SuccessThreshold successful probes in a row, half a second apart: they
//     tell a member that is back from one that flaps within a connection, and the thresholds of
//     loss bound how often it may. The first connection after a start requires one, so that a
//     restart is quick.
//   - At most Options.Connects members that have answered a probe are inspected and listed at a
//     time, so that hundreds that return at once leave processor time for the probes of the
//     others. The first probe is outside of that bound: a member that does not answer takes
//     no slot. One that stops to answer loses its turn after 2 s and goes on without.
//   - A member that does not answer is asked once per period of probes, for the whole of
//     Timeouts.Probe, so that it is noticed within half a period when it is back. Only what
//     fails after an answer, which costs a member more, is retried more and more seldom.
package members
