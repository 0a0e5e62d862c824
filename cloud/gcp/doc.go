// Package gcp is the port to Google Cloud: persistent disks and their snapshots, through
// the Compute Engine API v1.
//
// # What
//
//   - Connect makes a session for one project and region. Credentials of type Secret are
//     the key file of a service account, those of type Federated a token of the hub that
//     Google's Security Token Service exchanges, and only those of type Ambient look at
//     the environment: the file that GOOGLE_APPLICATION_CREDENTIALS names, else the
//     metadata server of the machine or pod.
//   - Snapshots are found by their name, which is unique in a project. Labels name hub,
//     application and snapshot; all tags are in the description as JSON, since labels
//     take 63 lower case characters. The labels decide about ownership.
//   - An error of a change that was accepted is only in its operation. After a request
//     the session looks for what it made, and if that is not there, at the operation, once.
//
// # Not
//
// No waiting for operations, and no copies: snapshots are global and are stored where
// SnapshotSpec.Locations says. No regional disks are made, though they are snapshotted.
// No other universe than googleapis.com, and no volume of another project than the
// account's, since a member's administrator writes the handles.
//
// # Trade-offs
//
//   - Google answers a repeated requestId with what the first request came to, for a time
//     that is not told, also when that was a failure, or when the snapshot was deleted
//     since. The ID therefore follows from name, verb, attempt and a window of time: a
//     request that is sent again at once is the same, one that is sent when a limit has
//     passed is another. The name alone keeps a second snapshot from being made.
//   - The SDK's list requests ignore the context, and none tells the headers of its
//     answer. Each call therefore gets clients of its own on a transport that is bound to
//     its context; making them costs microseconds and sends nothing.
//   - The SDK's own retries are off: the caller repeats by class.
//   - CloudAccount's endpoint is where the compute API is. Tokens come from Google's own
//     addresses all the same, unless the endpoint is on a loopback address: then they
//     come from there, which is what tests and demonstrations need.
//   - Permissions are asked of a snapshot and a disk that need not exist, for what the
//     project grants. A check that the API does not answer is left out.
package gcp
