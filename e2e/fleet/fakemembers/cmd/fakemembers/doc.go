// Command fakemembers serves fake member clusters until its standard input ends.
//
// # Purpose
//
// Its arguments are the names of the members. The first line of its output is a
// fakemembers.Announcement. See package fakemembers.
//
// # Non-goals
//
// It is for tests: package fakemembers builds and starts it.
//
// # Trade-offs
//
// It is a process of its own, so that the processor time and the memory of a hub beside it are the
// hub's.
package main
