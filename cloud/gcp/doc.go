// Package gcp implements package cloud for Google Cloud: persistent disks and their snapshots.
//
// # Purpose
//
//   - Connect creates a Session for a project and a region through the Compute Engine API v1.
//     Package identity provides the credentials.
//   - Snapshots are found by their name, which is unique in a project. Labels hold hub, application
//     and snapshot, and decide on ownership. The description holds all tags as JSON, because labels
//     are limited to 63 lower case characters.
//   - A change that was accepted reports its error in the operation only. After a request the
//     session looks for the object that it created and, if it is missing, reads the operation once.
//
// # Non-goals
//
// The package does not wait for operations. It does not copy snapshots, which are global and stored
// in SnapshotSpec.Locations, encrypted with the key that the account has for the location. It takes snapshots of regional disks but does not create regional disks.
// It supports no universe other than googleapis.com, and no volumes of other projects, because the
// administrator of a member writes the volume handles.
//
// # Trade-offs
//
//   - Google answers a repeated requestId with the result of the first request for an undocumented
//     time, even if it failed or the snapshot was deleted. The ID is therefore derived from name,
//     verb, attempt and a window of time: an immediate repetition has the same ID, and a request
//     after a limit has passed has another. The unique name prevents a second snapshot.
//   - List requests of the SDK ignore the context and do not return response headers. Each call
//     therefore creates clients on a transport that is bound to its context, which takes
//     microseconds and sends nothing.
//   - Retries of the SDK are disabled. Callers retry by class.
//   - The endpoint of a CloudAccount is the endpoint of Compute Engine. Tokens are requested from Google's
//     addresses, except for an endpoint on a loopback address, which also serves tokens in tests and
//     demonstrations.
//   - Preflight asks for the permissions on a snapshot and a disk that need not exist, which the
//     project grants. Checks that the API does not answer are omitted.
package gcp
