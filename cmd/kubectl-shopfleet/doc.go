// Command kubectl-shopfleet is the kubectl plugin for `kubectl shopfleet`.
//
// # Purpose
//
// The plugin installs the hub, joins clusters to the fleet and removes them, shows the
// fleet and its EcommerceApps, also as a page in a browser, plans, follows, pauses and rolls back rollouts, deletes
// EcommerceApps with progress by cluster, adopts and
// deletes orphans, decides about what a restored hub finds, and backs up and restores databases.
// It checks the hub and its members, explains reasons, shows what is not written, lists the images for a mirror, and
// writes an archive for a support request. Package commands has the command line, join and installer what is
// applied to clusters, printers the tables, watch the objects as they change, doctor the
// checks, report the archive, and hint the hints that are printed with errors. Flags,
// printers and help are those of kubectl, from k8s.io/kubectl.
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
