// Package s3 serves a bucket.Store as Amazon S3.
//
// # Purpose
//
//   - Server handles PUT, GET, HEAD and DELETE of objects, ListObjectsV2 and ListObjectVersions, with the
//     error codes and request IDs of S3, with the bucket in the host name or in the path. PUT honours If-None-Match.
//   - Where the store keeps versions, a DELETE without a version hides an object. With a default retention
//     a PUT needs a checksum, and versions are not deleted before its end.
//   - Requests must be signed with Signature Version 4, in headers or in the URL, with a known key, for
//     the server's region and time.
//   - A request is authorized by the policy of the key that signed it (iam.Policy), for the bucket's
//     encryption key too.
//   - Bodies are streamed to the store.
//
// # Non-goals
//
// There are no reads of versions, multipart uploads, chunked signatures, bucket policies or access lists. Unknown
// parameters and x-amz headers are refused, never ignored.
//
// # Trade-offs
//
//   - Deleting a locked object fails with AccessDenied in a bucket without versions. S3 has no locks there,
//     but compatible services may.
//   - Up to 64 MiB of the body of a refused request are read, because some clients would otherwise see a
//     closed connection instead of the response.
package s3
