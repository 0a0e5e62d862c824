// Package podexec runs commands in the containers of a cluster's pods, through its API server.
//
// # Purpose
//
// Run runs a short command with its input.
//
// # Non-goals
//
// The package does not look at the pod: one that is missing or does not run is an error of the API
// server.
//
// # Trade-offs
//
//   - WebSocket is tried first, and SPDY after a refusal to upgrade: clusters before 1.30
//     know only that one. A server that accepts a SPDY connection and never responds
//     leaves a goroutine behind until the connection breaks, but does not block the caller.
//   - What a pod prints is read up to a few hundred bytes, and is part of the error. The command
//     is not, since it is long; callers put no secrets into either.
package podexec
