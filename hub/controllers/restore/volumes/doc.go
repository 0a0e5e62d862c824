// Package volumes makes the volumes of a Restore in the cloud, and deletes them again.
//
// # What
//
//   - Make asks for a volume for each that the status names, until the cloud says that it
//     is ready.
//   - Delete deletes one, also one whose answer was lost: it is found again by its name.
//
// # Not
//
// Nothing in a cluster, and nothing is decided on what a volume is made from.
//
// # Trade-offs
//
//   - That a volume may be there is written down before it is asked for, as state Creating
//     without a handle. It is taken back when the cloud refuses it for certain.
//   - Volumes are found by asking for them once more, as the port has no other way: one
//     that was never made is made then, and deleted.
package volumes
