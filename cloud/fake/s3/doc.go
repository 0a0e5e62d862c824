// Package s3 is the API of Amazon S3, as far as the objects of one bucket go, in front of
// a bucket.Store: what an SDK, boto3 or the command line sends over HTTP.
//
// # Purpose
//
//   - Server is an http.Handler: PUT, GET, HEAD and DELETE of objects and ListObjectsV2, with
//     the codes, request IDs and habits of the real one, under the host of the bucket or
//     with the bucket in the path. PUT knows If-None-Match.
//   - Requests must be signed with Signature Version 4, in their headers or in their URL,
//     with a key that the server knows, for its region and its time.
//   - Bodies go through without being kept in memory where the store keeps none there.
//
// # Non-goals
//
// No versions, no parts, no access control but Deny. A parameter or x-amz header that is
// not known here is refused, never ignored: what a client relies on must have been
// thought about. Bodies in chunks that are signed one by one are refused, too.
//
// # Trade-offs
//
//   - An object that is locked is refused with AccessDenied and the words of S3's. There it
//     is so for versions alone: DELETE without one hides the object, and holds nothing up.
//   - Of a request that is refused up to 64 MiB are read all the same: some clients would
//     otherwise see no answer, but a connection that is closed.
package s3
