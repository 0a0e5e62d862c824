// Command fleet runs a hub and three members in three clouds' likeness on this
// machine, for people.
//
// What: "fleet up" starts them and leaves them running, "fleet down" ends them and
// removes everything. In between, kill, freeze, thaw and restart play the loss of a
// region, add starts one more member, and kubeconfig gives a ServiceAccount's view.
//
// Not: but for that, the fleet's shape is not configurable; package fleet is. A member
// without a storage driver has no volumes until somebody runs one: package csi.
//
// Trade-offs: there is no daemon. The state file names every process with its start
// time, and each command looks at what is there.
package main
