// Package manifests applies YAML to a cluster.
//
// What: server-side apply of any kinds, in an order that works: namespaces and
// definitions first, then the rest as written. It waits until definitions are
// served before it applies their objects.
//
// Not: it prunes nothing, and does not wait until what it applied is ready.
//
// Trade-offs: conflicts are forced, because a fleet's owner is a person or a test
// that wants exactly this state.
package manifests
