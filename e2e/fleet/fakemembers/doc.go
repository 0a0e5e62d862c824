// Package fakemembers serves many member clusters from one process, to measure a hub with hundreds
// of members: a machine holds only a few real control planes.
//
// # Purpose
//
// A Member is one cluster behind a TLS listener of its own on a loopback address, with its own
// authority, token and namespace kube-system. It serves the part of the Kubernetes API that
// the hub uses: discovery, reviews of permissions, reads, lists, watches with initial events and
// bookmarks, server-side apply, creation, merge patches, the subresource status, and deletion with
// preconditions, finalizers and owners. Workloads are ready, claims are bound and Jobs are
// complete as soon as they are written. Objects are sent as protobuf to clients that ask for it, so
// that a client's processor time is that with a real API server.
//
// Start runs the members in a process of their own, package cmd/fakemembers, which ends with the
// one that started it. Close and Open change whether a member answers, and Requests counts what was
// asked of it.
//
// The contract test runs on a fake member and on a real control plane, so that both behave the
// same in what the hub relies on.
//
// # Non-goals
//
// Nothing is validated, defaulted or authorized, lists have no pages, the only field selectors are
// those of name and namespace, and there are no JSON patches and no strategic merge patches. Nothing
// runs in pods. It is no place to test what the hub writes: that is for control planes.
//
// # Trade-offs
//
//   - Server-side apply is that of apimachinery without a schema: managed fields, conflicts and the
//     removal of fields are real, but each list is one value.
//   - kcp serves many clusters from one process as well, but the API server and etcd that it needs would be measured along.
//   - Objects are stored as JSON, which costs the server time and saves memory: a member with eight
//     shops takes about eight megabytes, with the protobuf that is kept for the next watch.
//   - A watch reads a log of its resource that is bounded; a client that is behind gets the
//     status Gone, as from a real API server.
package fakemembers
