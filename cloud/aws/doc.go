// Package aws implements package cloud for Amazon Web Services: snapshots of EBS volumes.
//
// # Purpose
//
//   - Connect creates a Session for an account and a region. It uses only the credentials that
//     the CloudAccount names; see package identity.
//   - Snapshots are found by the tags for their name and the hub. EC2 does not make
//     names unique: the oldest snapshot that did not fail is used, the others are Duplicates.
//   - The UID of a volume is its ID, which EC2 never reuses.
//
// # Non-goals
//
// Neither this package nor the SDK retries: EC2 creates another snapshot for each request, and the
// SDK repeats a request when the response is lost. Each method sends each of its requests once,
// and the class of its error determines if it may be called again.
//
// # Trade-offs
//
//   - A response must be a complete XML document. The SDK would accept the empty page of a
//     captive portal as an empty list, from which the caller would conclude that a snapshot does
//     not exist.
//   - CopySnapshot returns an ID only. A new copy is Creating until it is read for the first time.
//   - Preflight uses DryRun with existing IDs: policies depend on tags, and EC2 refuses an ID that
//     does not exist whatever the policy allows. In an account without volumes and backups the
//     permissions for them are not checked.
//   - Amazon does not document the error code for deleting a locked snapshot. All candidates are
//     classified as Locked.
package aws
