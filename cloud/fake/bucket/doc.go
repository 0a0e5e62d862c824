// Package bucket is a bucket that lives in memory: objects with their contents, checksums
// and times, and what people do to them behind the session's back. Packages fake/s3,
// fake/gcs and fake/blob speak the providers' wire protocols in front of it.
//
// # Purpose
//
//   - Store is the truth. What is made is seen at once, in lists too, as all three
//     providers promise.
//   - Connect is a cloud.Objects without any wire, on a Store. Its requests go wrong as a
//     faults.Script says. The requests that it signs are carried out by Store.ServeHTTP.
//
// # Non-goals
//
// No versions, no accounts and no rights: who may do what is a matter of the front ends.
//
// # Trade-offs
//
//   - Contents of more than 1 MiB go to files where SpillTo says so, so that a process may
//     take bodies that are larger than its memory. Without, all is in memory.
//   - A body is read to its end before anything is made of it: one that is cut, or is not
//     what its checksum says, leaves nothing.
package bucket
