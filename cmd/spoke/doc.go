// Command spoke runs EcommerceApps, WebApps and MySQLClusters in one cluster.
//
// # Purpose
//
// The command parses flags and calls package spoke/setup. The subcommand transfer calls
// package spoke/transfer instead, which moves a dump to or from a bucket and exits.
//
// # Non-goals
//
// The command needs no hub, and decides and composes nothing.
//
// # Trade-offs
//
// The command is configured by flags alone, so that the arguments of its Deployment show
// the configuration.
package main
