// Command spoke runs EcommerceApps, WebApps and MySQLClusters in one cluster.
//
// # Purpose
//
// Flags in, one call of package spoke/setup; with the subcommand transfer one of
// package spoke/transfer, which moves a dump to or from a bucket and ends.
//
// # Non-goals
//
// No hub is needed, and nothing else happens here.
//
// # Trade-offs
//
// Flags alone configure it, as a Deployment's arguments show them.
package main
