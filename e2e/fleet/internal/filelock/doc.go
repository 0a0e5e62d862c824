// Package filelock provides mutual exclusion between processes.
//
// # Purpose
//
// A lock on a file, held until it is released or its process ends.
//
// # Non-goals
//
// It does not protect the goroutines of one process from each other.
//
// # Trade-offs
//
// The lock is tried at intervals instead of waited for in the system, so that a cancelled
// context ends the wait.
package filelock
