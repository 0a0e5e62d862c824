// Command kubectl-shopfleet is the kubectl plugin for `kubectl shopfleet`.
//
// # Purpose
//
// It installs the hub, joins clusters to the fleet and removes them, shows the
// fleet and its EcommerceApps, and backs up and restores their databases. Package
// commands has the command line, join and manifests what is applied to clusters,
// printers the tables, watch and tty what changes on the screen, and hint what errors
// tell the user to do.
//
// # Non-goals
//
// Nothing that plain kubectl does as well. EcommerceApps are applied with it.
//
// # Trade-offs
//
// A separate program and not a mode of the hub, so that users do not
// install what runs in clusters.
package main
