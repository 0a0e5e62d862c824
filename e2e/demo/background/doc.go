// Package background starts processes that outlive the one that starts them, finds them
// again, and ends them.
//
// # Purpose
//
// A Process has a state file with the PID and a hash of its inputs, and a log file. Ensure
// restarts it if it is gone, not healthy, or has other inputs.
//
// # Non-goals
//
// No process is watched, or restarted by itself.
//
// # Trade-offs
//
// A process is identified by the path of its program, which must therefore be in a folder of
// its own.
package background
