// Package s3 serves a bucket.Store as Amazon S3.
//
// # Purpose
//
//   - Server handles PUT, GET, HEAD and DELETE of objects and ListObjectsV2, with the error codes and
//     request IDs of S3, with the bucket in the host name or in the path. PUT honours If-None-Match.
//   - Requests must be signed with Signature Version 4, in headers or in the URL, with a known key, for
//     the server's region and time.
//   - A request is authorized by the policy of the key that signed it (iam.Policy), for the bucket's
//     encryption key too.
//   - Bodies are streamed to the store.
//
// # Non-goals
//
// There are no versions, multipart uploads, chunked signatures, bucket policies or access lists. Unknown
// parameters and x-amz headers are refused, never ignored.
//
// # Trade-offs
//
//   - Deleting a locked object fails with AccessDenied. S3 does that for versions only, and hides the
//     object otherwise.
//   - Up to 64 MiB of the body of a refused request are read, because some clients would otherwise see a
//     closed connection instead of the response.
package s3
