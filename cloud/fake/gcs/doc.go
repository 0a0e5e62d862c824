// Package gcs is Google Cloud Storage as far as the objects of one bucket go: a wire front
// end on a bucket.Store.
//
// # Purpose
//
//   - Server speaks the JSON API: inserting in one request, reading, listing by pages and
//     deleting, with partial answers. Of the XML API it speaks PUT, GET and DELETE with
//     bearer tokens. Errors are in the words of each. Unknown parameters are refused.
//   - The token service is there, too: it exchanges an access token for one with a Credential
//     Access Boundary, which is enforced: the bucket, the permissions of its roles, the
//     condition about names, and the hour that it is good for. All else about tokens is
//     asked of a Tokens, as a gce.Server is one.
//
// # Non-goals
//
// No signed URLs, resumable uploads, versions, folders or access lists: an identity may do
// everything in the bucket, but what its boundary leaves out and what Server.Forbid took
// away. Of conditions, only comparisons of names and the beginnings of names are understood,
// one of which must be true.
//
// # Trade-offs
//
//   - A locked object is under a hold. Options.Bland answers as Google has done at times:
//     that a deletion is forbidden, and nothing else.
package gcs
