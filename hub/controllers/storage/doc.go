// Package storage gives each member the storage classes that fit its provider.
//
// # Purpose
//
//   - The profiles Standard, Fast and Archive, the classes that the cloudConfig of
//     applications asks for, and a VolumeSnapshotClass where the cluster has the kind.
//     What they are is package cloud/csi's decision.
//   - The condition StorageReady of a MemberCluster says whether they are there, and
//     status.storageClasses which class each profile is.
//   - A class of ours that is changed or deleted is put right at once. Classes that are
//     not ours are never touched; one that has a name of ours is a Conflict.
//   - On local clusters the profiles are the cluster's default class, and there is
//     nothing to write.
//
// # Non-goals
//
// No volumes: the cluster's CSI driver makes them. No class is deleted: claims that have
// it could not grow any more, and StatefulSets could not make more of them.
//
// # Trade-offs
//
//   - A class cannot be changed, so its name has a hash of what it says. A new version of
//     Shopfleet that says something else leaves the old one to the claims that have it.
//   - A member is worked on in a queue of its own while it is connected. While it is not,
//     its condition stays what it was.
//   - VolumeSnapshotClasses are not watched, since most clusters lack the kind when their
//     caches start. They are read whenever the member is looked at, once an hour.
package storage
