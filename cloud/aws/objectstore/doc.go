// Package objectstore implements cloud.ObjectStore for Amazon S3 and compatible services.
//
// # Purpose
//
//   - Open creates Objects with the credentials that package identity provides.
//   - Every PUT has the header If-None-Match: *. The signature of a signed PUT covers it, so that
//     its holder cannot omit it, and S3 does not overwrite objects.
//   - With a configured endpoint the bucket is part of the path, otherwise of the host name.
//
// # Non-goals
//
// Neither this package nor the SDK retries. There are no multipart uploads: an object of up to 1 GiB
// is uploaded with one PUT. Storage class, encryption and tags are the defaults of the bucket.
//
// # Trade-offs
//
//   - Responses are validated, because a captive portal answers every request with 200: lists and
//     errors must be complete XML documents, reads and writes must return an ETag, and a deletion
//     must return 204.
//   - S3 guarantees that objects are not overwritten. A compatible service that ignores
//     If-None-Match must not be used.
//   - A signed request expires with the credentials that signed it. Credentials that expire within
//     half of the requested lifetime are renewed first.
//   - Requests are signed with the time of config.Clock. RequestTimeTooSkewed is AuthExpired.
//   - Where a bucket keeps versions, a deletion without a version would hide the object, a locked one too. Each
//     deletion lists the versions of the object first, one request more. The markers that others leave are
//     found by it only if the object is asked for: lists do not have hidden objects.
//   - An object with one version "null", or with none, may be in a bucket without versions, where compatible
//     services do not delete by version. A HEAD tells, one request more. A service that keeps versions and does not
//     tell marks the object as deleted, which the answer says: then the versions are listed and deleted.
//   - The permission to list versions is needed in buckets with versions only: if the list is denied, a HEAD tells.
//   - A bucket with a default retention takes no object without a checksum. One is sent where that was asked
//     for, as a header: S3 ignores it in a presigned URL.
//   - The owner of the bucket is not verified. Use an account for backups only.
package objectstore
