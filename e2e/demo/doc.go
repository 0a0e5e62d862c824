// Command demo shows Shopfleet on one machine: real control planes, the hub, three
// members in three regions, and a shop on all of them.
//
// # Purpose
//
// "demo up" builds the programs, starts a fleet, installs CRDs, permissions and admission
// policies, starts the hub as a process of its own with its ServiceAccount, joins the members
// with the command line tool, applies the sample shop, shows its status until it runs
// everywhere and what it misses, gives it a login as a second field manager, and backs up the
// database of the member on aws, with a copy in another region. It fails unless doctor finds
// nothing and plan answers. It leaves everything running and prints commands to try. A second up repairs what is missing. "demo restore"
// adds a member in that region, restores the copy there and runs the shop on it. "demo down"
// stops and deletes everything.
//
// # Non-goals
//
// The demo runs no images, and sends no request to a cloud. The fleet's nodes are simulated; see
// package fleet. A process of the demo simulates Amazon's API and a storage driver, to which it starts
// the real controllers; see package cloud. Volumes hold no data. Members on other clouds have no account, and
// their volumes come with the simulated nodes.
//
// # Trade-offs
//
// Each step uses the commands that a user would type, so that the demo fails when they do.
// The controllers of the driver are built by "demo up", which says that the first run takes minutes: the
// database of the member on aws needs a volume that can be snapshotted, and "demo restore" starts at once.
// After a failure everything is left for inspection; an interruption removes what this run
// started.
package main
