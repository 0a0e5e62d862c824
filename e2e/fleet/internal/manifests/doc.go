// Package manifests applies YAML to a cluster.
//
// # Purpose
//
// Server-side apply of any kinds, in an order that works: namespaces and definitions first,
// then the rest as written. It waits until definitions are served before it applies their
// objects.
//
// # Non-goals
//
// It prunes nothing, and does not wait until what it applied is ready.
//
// # Trade-offs
//
// Conflicts are forced, because a fleet's owner is a person or a test that wants exactly
// this state.
package manifests
