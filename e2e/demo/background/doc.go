// Package background starts processes that outlive the one that starts them, finds them
// again, and ends them.
//
// What: a Process has a state file with the PID and what it was made from, and a log file.
// Ensure starts it anew when it is gone, not healthy, or made from something else.
//
// Not: nothing watches a process or starts it again by itself.
//
// Trade-offs: a process is known by the path of its program, which must therefore be in a
// folder of its own.
package background
