// Command demo shows Shopfleet on one machine: real control planes, the hub, three
// members in three regions, and a shop on all of them.
//
// What: "demo up" builds the programs, brings a fleet up, installs definitions and
// permissions, starts the hub as a process of its own with its ServiceAccount,
// joins the members with the command line tool, applies the sample shop and shows
// its status until it runs everywhere. It leaves all of it running and says what to
// try. A second up repairs what is not there. "demo down" ends everything.
//
// Not: no images run. The fleet's nodes are simulated; see package fleet.
//
// Trade-offs: each step is what a person would do, by the programs that a person
// would use, so that the demo breaks when they do. After a failure things stay as
// they are, to be looked at; an interruption removes what this run started.
package main
