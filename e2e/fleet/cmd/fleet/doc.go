// Command fleet runs a hub and three members, simulated on three clouds, on this machine.
//
// # Purpose
//
// "fleet up" starts them and leaves them running, "fleet down" stops them and deletes
// everything. In between, kill, freeze, thaw and restart simulate the loss of a region, add
// starts another member, and kubeconfig prints a kubeconfig for a ServiceAccount.
//
// # Non-goals
//
// But for that, the fleet's shape is not configurable; package fleet is. A member without a
// storage driver has no volumes until one runs: see package csi/driver.
//
// # Trade-offs
//
// There is no daemon. The state file names every process with its start time, and each
// command looks at what is there.
package main
