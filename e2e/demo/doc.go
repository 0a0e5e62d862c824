// Command demo shows Shopfleet on one machine: real control planes, the hub, three
// members in three regions, and a shop on all of them.
//
// What: "demo up" builds the programs, brings a fleet up, installs definitions and
// permissions, starts the hub as a process of its own with its ServiceAccount,
// joins the members with the command line tool, applies the sample shop, shows its
// status until it runs everywhere, and has the database of the member on aws backed up,
// with a copy in another region. It leaves all of it running and says what to try. A
// second up repairs what is not there. "demo restore" adds a member in that region,
// restores the copy there and has the shop run on it. "demo down" ends everything.
//
// Not: no images run, and no cloud is asked. The fleet's nodes are simulated; see package
// fleet. A process of the demo plays Amazon's API and its storage driver; see package
// cloud. What is in volumes is nowhere. Members on other clouds have no account.
//
// Trade-offs: each step is what a person would do, by the programs that a person
// would use, so that the demo breaks when they do. After a failure things stay as
// they are, to be looked at; an interruption removes what this run started.
package main
