// Package filelock lets processes take turns.
//
// What: a lock on a file, held until it is released or its process ends.
//
// Not: it does not protect the goroutines of one process from each other.
//
// Trade-offs: the lock is tried at intervals instead of waited for in the system,
// so that a cancelled context ends the wait.
package filelock
