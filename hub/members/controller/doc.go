// Package controller is the controller for MemberClusters: it adds and removes the members
// of the fleet and reports their state in the status of each MemberCluster.
//
// # Purpose
//
//   - A Secret in the hub's namespace with the label ecommerce.io/member-cluster:
//     "true" creates a MemberCluster of its name, once. Users own its spec.
//   - The controller passes the kubeconfig of the Secret and the mode and health of the
//     spec to the fleet (hub/members), which connects. Each change of a member's state
//     triggers a reconciliation.
//   - decide is a pure function from what is known to the status. The status is written
//     only when it changes; events record the transitions.
//   - A kubeconfig whose token the fleet has renewed is stored in the registration Secret,
//     unless that has changed meanwhile. The fleet renews tokens of the account that the
//     Secret's annotation ecommerce.io/renewed-account names.
//   - Orphans finds the copies in a connected member that no application on the hub owns,
//     from the caches of both, whenever a copy or an application is added or removed. They
//     are listed in a ConfigMap, from which users choose those to adopt or delete.
//   - Package recovery records the copies that deleted applications left behind. Their number
//     is the number of its records.
//   - If the Secret is deleted or no longer labelled, the member is detached: Ready is
//     False with reason SecretNotFound. Deleting a MemberCluster detaches the member too,
//     and sets the label of its Secret to "false", so that it is not created again.
//
// # Non-goals
//
// The package opens no connections: hub/members does. It never writes to a member, and
// detaching leaves all workloads of the member running.
//
// # Trade-offs
//
//   - The status stays unchanged after a start of the hub until the member was connected
//     or has failed for as long as it takes to be lost: a restart of the hub writes
//     nothing, and moves no shop.
//   - The time of the last observation is updated together with other changes only, and
//     is the time of the last Lease renewal if the agent is silent. Writing the status
//     with each probe would cost a write per member and period.
//   - A detected provider or region stays as long as the MemberCluster, also if most nodes
//     have another one. Nodes say too little while they are replaced, and a change would
//     move applications; only the spec makes one.
//   - Orphans are identified by their annotations. Copies of another hub that shares the
//     member look the same and count too.
//   - Before a MemberCluster is created, its Secret is read from the API server: the
//     cache may not reflect the removal of the label yet.
package controller
