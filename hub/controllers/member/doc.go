// Package member is the controller of MemberClusters: it says which members the fleet
// has, and tells in each MemberCluster's status how the member is.
//
// # What
//
//   - A Secret in the hub's namespace with the label ecommerce.io/member-cluster:
//     "true" makes a MemberCluster of its name, once. Its spec belongs to people.
//   - The kubeconfig of the Secret and the mode and health of the spec go to the fleet
//     (hub/members), which connects. Each change there comes back as a reconciliation.
//   - decide is a pure function from what is known to the status, written once and only
//     when it differs. Events tell transitions.
//   - Orphans counts the copies in a connected member that no application on the hub
//     owns, from the caches of both, when a copy or an application comes or goes.
//   - A Secret that is gone or no longer labelled detaches the member: Ready is False
//     with reason SecretNotFound. A MemberCluster that is deleted detaches it too, and
//     sets the label of its Secret to "false", so that it is not made again at once.
//
// # Not
//
// No connections: those are hub/members'. Nothing is ever written to a member here,
// and detaching leaves everything there as it is.
//
// # Trade-offs
//
//   - While a member has not been connected since the start of this process, and has
//     not failed for as long as it takes to be lost, its status stays what it was: a
//     restart of the hub writes nothing, and moves no shop.
//   - The time of the last observation moves with other changes only, and is that of the
//     last sign of life of an agent that is silent. A status that is
//     written with each probe would cost a write per member and period.
//   - An orphan is counted by what it says about its application. Copies of another hub
//     that shares the member look the same and count too.
//   - Before a MemberCluster is made, its Secret is read from the API server: the cache
//     may not yet know that the label has been taken away.
package member
