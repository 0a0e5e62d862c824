// Package bucket simulates a bucket in memory. Packages fake/s3, fake/gcs and fake/blob serve it over
// the providers' protocols.
//
// # Purpose
//
//   - Store holds objects with content, checksums and times. Changes are visible immediately, in lists
//     too, as all three providers guarantee.
//   - Connect creates cloud.ObjectStore without a network protocol. A faults.Script makes requests fail;
//     Store.ServeHTTP handles the requests that it signs.
//
// # Non-goals
//
// There are no versions, accounts or permissions.
//
// # Trade-offs
//
//   - After SpillTo, content of more than 1 MiB is stored in files, so that it may exceed the memory.
//   - A body is read completely before an object is created: a truncated body, or one with a wrong
//     checksum, leaves nothing.
package bucket
