// Package cloud defines the interface between the hub and the cloud providers: snapshots of
// volumes, and buckets, independent of any provider's API.
//
// # Purpose
//
//   - Session gives access to one account in one region through Snapshots, Volumes and Access.
//     Every method sends a bounded number of requests, never waits for an operation to finish,
//     and is idempotent: objects are found again by their name and by the tags of their owner.
//   - ObjectStore gives access to the bucket of one account, which holds dumps. Existing objects
//     are never overwritten. Members upload and download with requests that the hub signs.
//   - Config configures both. A Connect of package cloud/aws, gcp or azure creates a Session,
//     an OpenBucket of package cloud/aws/objectstore and its siblings creates an ObjectStore. Registry
//     and Buckets map providers to these functions.
//   - WithDeletion and WithBucketDeletion let another identity delete, if the account names one.
//   - Error carries a Class, on which callers decide, and the provider's message for users.
//   - Name and Tags are deterministic: a restarted hub, or a second leader, computes the same
//     names for the same objects.
//
// Storage classes, volume handles and capabilities need no request to a provider; package cloud/csi
// has them. Volumes are created, attached and deleted by the CSI drivers of the members.
//
// # States
//
// A snapshot is Creating until its point in time is fixed, and Taken from then on: later writes
// to the volume are not part of it, and the database may continue. It is Ready once a volume
// can be created from it. Providers differ in when that happens: CreateSnapshot of EC2 returns
// a snapshot that is Taken, Azure returns one that is still Creating.
//
// # Non-goals
//
// The package does not wait, schedule, prune, or use a Kubernetes client. It imports no SDK, and
// no type of an SDK leaves the package that adapts it.
//
// # Trade-offs
//
//   - The hub takes snapshots through the provider's API instead of by VolumeSnapshot objects in the
//     member: snapshots outlive the member, can be copied to other regions, and can be found again
//     when both member and hub are lost. In exchange the hub needs an identity in the cloud. A
//     volume is made from a snapshot by the member's driver: no API of a provider tells which zone,
//     tags, group and key a volume needs to be attached.
//   - Session is a struct of three small interfaces, so that a caller depends only on the part
//     that it uses, and each part can be wrapped separately.
//   - EC2 creates a second snapshot when a request is repeated after its response was lost.
//     Callers therefore persist an Intent before each request, and only look for the snapshot
//     until it must have become visible. All providers are called the same way, although unique
//     names make repeated requests harmless on the others.
//   - Objects are owned by their key alone: listing a bucket returns no tags, and any identity
//     with write access may use any key. The provider guarantees that nothing is overwritten.
//   - Every change names the owner and is refused for objects of another owner, and for objects
//     that lost their tags: keeping one backup too many is better than losing one.
package cloud
