// Command spoke runs EcommerceApps, WebApps and MySQLClusters in one cluster.
//
// What: flags in, one call of package spoke/setup; with the subcommand transfer one of
// package spoke/transfer, which moves a dump to or from a bucket and ends.
//
// Not: no hub is needed, and nothing else happens here.
//
// Trade-offs: flags alone configure it, as a Deployment's arguments show them.
package main
