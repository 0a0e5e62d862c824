// Package process runs and signals the processes of a fleet.
//
// # Purpose
//
// It starts a command with its output in a log file, names the running process so that it is
// never mistaken for a later one with the same number, signals it, and waits until it is
// gone. A tied process ends with the process that started it, however that one ends; a Guard
// removes a folder afterwards.
//
// # Non-goals
//
// It does not restart anything, and it knows nothing about Kubernetes.
//
// # Trade-offs
//
// Tying uses a feature of Linux, where the kernel kills the child when the thread that
// started it ends. Each tied process therefore keeps one thread of its parent. On other
// systems a parent that is killed outright leaves its processes running.
package process
