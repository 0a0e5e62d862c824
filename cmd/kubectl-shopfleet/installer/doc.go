// Package installer applies the objects of the hub or of a spoke to a cluster, and deletes them.
//
// # Purpose
//
// A Plan is a list of objects that is applied in order with server-side apply,
// waiting for CRDs before anything that follows. A Rollout waits for a Deployment, and
// explains with the state of its pods why it is not ready in time. Objects are deleted
// in reverse order.
//
// # Non-goals
//
// The package does not know which objects to install (package config does), and prints nothing.
//
// # Trade-offs
//
//   - A dry run of each apply is compared with the live object, managed fields
//     included, so that nothing is written to an object that is already as it should
//     be, and an upgrade is the same command. The price is a second request per object.
//   - Fields of other managers in our intent are taken over: a Deployment that was
//     scaled by hand is scaled back.
//   - A CRD of a newer release is kept, by the rule with which the hub keeps those in members: it has
//     all fields of ours and more. So a release that only removes fields would be taken for an older one.
//   - A ConfigMap lists what was installed, so that an object that a later version no longer
//     has is pruned. It is compared with the plan, and not with a label: other programs, such as
//     join in a member, apply objects with the same labels. An object that the program did
//     not apply is never pruned.
//   - Namespaces and CRDs are not deleted with the rest, because that deletes the
//     registrations and every EcommerceApp. Deleting CRDs is a separate step, which
//     fails while one of them has an object.
package installer
