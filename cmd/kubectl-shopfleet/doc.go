// Command kubectl-shopfleet is the kubectl plugin for `kubectl shopfleet`.
//
// # Purpose
//
// The plugin installs the hub, joins clusters to the fleet and removes them, shows the
// fleet and its EcommerceApps, deletes EcommerceApps with progress by cluster, adopts and
// deletes orphans, settles what a restored hub finds, and backs up and restores databases.
// It checks the hub and its members, shows what is not written, and writes an archive for
// a support request. Package commands has the command line, join and manifests what is
// applied to clusters, printers the tables, watch and tty the output that is updated in
// place, doctor the checks, report the archive, and hint the hints that are printed with
// errors.
//
// # Non-goals
//
// The plugin does nothing that plain kubectl does as well: users apply EcommerceApps with
// kubectl.
//
// # Trade-offs
//
// The plugin is a separate program and not a mode of the hub, so that users do not install
// what runs in clusters.
package main
