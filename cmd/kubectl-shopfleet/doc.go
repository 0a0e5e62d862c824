// Command kubectl-shopfleet is the plugin that makes `kubectl shopfleet` work.
//
// What: joins clusters to the fleet and takes them out, and shows the fleet and the
// shops on it. Package commands is the command line, join what happens on hub and
// member, table what people read, follow and screen what moves, advice what errors
// say to do.
//
// Not: nothing that plain kubectl does as well. Shops are applied with it.
//
// Trade-offs: a program of its own, and not a mode of the hub, so that people need
// not install what runs in clusters.
package main
