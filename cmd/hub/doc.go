// Command hub runs shops on a fleet of clusters.
//
// # Purpose
//
// Flags in, one call of package hub/setup, an exit code out: 0 when it was told to
// end, 1 when it could not start or lost its lease.
//
// # Non-goals
//
// Nothing is decided or composed here.
//
// # Trade-offs
//
// A lost lease ends the process, so that whatever still runs in it cannot write
// beside the next leader; whoever runs it starts it again.
package main
