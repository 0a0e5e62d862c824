// Package cleanup takes away what a Restore made in a member for a while: claims, and
// the volumes that they have.
//
// # What
//
//   - Claim deletes a claim, after its volume was told to go with it.
//   - Volume has the driver delete a volume that was made for a claim and never bound.
//
// # Not
//
// No claim is touched that does not bear our label, and no volume of another claim. The
// data of an application goes by none of these.
//
// # Trade-offs
//
//   - The classes that the hub makes keep the volumes of claims that are deleted, so that
//     nobody loses a shop with its namespace. So each volume is told to go, one by one.
//   - A claim whose volume is being made is waited for, up to ten minutes: deleted before,
//     its volume would come after it and stay. A driver that takes longer, and then makes
//     it all the same, leaves it behind.
//   - The hub may delete no PersistentVolume. One that is told to be that of a claim that is
//     no more counts as released, and its driver deletes it.
package cleanup
