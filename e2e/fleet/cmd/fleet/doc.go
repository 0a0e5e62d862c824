// Command fleet runs a hub and three members in three clouds' likeness on this
// machine, for people.
//
// What: "fleet up" starts them and leaves them running, "fleet down" ends them and
// removes everything. In between, kill, freeze, thaw and restart play the loss of a
// region, and kubeconfig gives a ServiceAccount's view.
//
// Not: the fleet's shape is not configurable; package fleet is.
//
// Trade-offs: there is no daemon. The state file names every process with its start
// time, and each command looks at what is there.
package main
