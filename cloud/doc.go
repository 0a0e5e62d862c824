// Package cloud is the port to the cloud providers: what the hub asks of the disks,
// snapshots and buckets of a member's cloud, in the words of none of them.
//
// # What
//
//   - Session is one account in one region: Snapshots, Volumes and Access. Each of
//     their methods makes a bounded number of calls, never waits for something to be
//     finished, and is safe to repeat for ever: what it is asked for is found again by
//     its name and by the tags of its owner.
//   - Objects is the bucket of one account, for dumps: what is put there is never written
//     over, and members put and get with requests that the hub signs for them.
//   - Config is what a session is made from; a Connect of package cloud/aws, gcp or
//     azure makes it. Registry says which provider has which. Buckets does so for
//     Objects, which an Open of package cloud/aws/objectstore and its like makes.
//   - Error is what their errors are: a Class, on which callers decide, and what the
//     provider said, for people.
//   - Name and Tags are how our snapshots and volumes are called and marked, the same
//     from whoever computes them: a restarted hub, or a second leader, comes to the
//     same names.
//
// What needs no provider to answer (storage classes, volume handles, PersistentVolumes,
// what a provider can do) is in package cloud/csi.
//
// # States
//
// A snapshot is Creating until its point in time is fixed, then Cut: what is written to
// the volume from there on is not in it, and a database may go on. It is Ready when a
// volume can be made from it. The clouds differ in when these are: CreateSnapshot of
// EC2 returns with the snapshot Cut, Azure's with neither.
//
// # Not
//
// No waiting, no schedule, no retention, and no Kubernetes client. No SDK is imported
// here, and no type of one goes beyond the package that adapts it.
//
// # Trade-offs
//
//   - Snapshots are asked of the provider's API and not through VolumeSnapshot objects
//     in the member: they outlive the member, can be copied to other regions, and are
//     found again when member and hub are lost. The price is that the hub needs an
//     identity in the cloud.
//   - A Session is a struct of three small interfaces, so that who only prunes needs
//     only what prunes, and each can be wrapped alone.
//   - EC2 makes a second snapshot when a request whose answer was lost is sent again.
//     The caller therefore writes an Intent down before each request; until the cloud
//     must have shown what it made, it only looks. The others are asked the same way,
//     though their names make a second request harmless: one way is easier to trust.
//   - Objects have no owner but their keys: a bucket has no tags that a list would tell,
//     and whoever may write there may write any. That nothing is written over is left to
//     the provider, which alone can promise it.
//   - Every change carries the owner and is refused on what another owner made or what
//     has lost its tags: a backup too many is cheaper than one too few.
package cloud
