// Package storageclasses gives each member the storage classes that fit its provider.
//
// # Purpose
//
//   - It creates StorageClasses for the profiles Standard, Fast and Archive and for the
//     cloudConfig of applications, and a VolumeSnapshotClass where the cluster has the kind.
//     Package cloud/csi decides their contents, and package revisions what a member has of an
//     application, which may be an earlier revision than its spec.
//   - The condition StorageReady of a MemberCluster reports whether they exist, and
//     status.storageClasses the class of each profile.
//   - A class of the hub that is changed or deleted is restored at once. Other classes are
//     never changed; one that has the name of a class of the hub is a Conflict.
//   - On clusters of the provider other the profiles are the cluster's default class, and nothing is written.
//
// # Non-goals
//
// The package creates no volumes: the cluster's CSI driver does. It deletes no class: claims of
// the class could not grow any more, and StatefulSets could not create more of them.
//
// # Trade-offs
//
//   - A class cannot be changed, so its name has a hash of its contents. A new version of
//     Shopfleet with other contents keeps the old one for the claims that have it.
//   - A member is worked on in a queue of its own while it is connected. While it is not,
//     its condition stays what it was.
//   - VolumeSnapshotClasses are not watched, since most clusters lack the kind when their
//     caches start. They are read at each reconciliation of the member, once an hour.
package storageclasses
