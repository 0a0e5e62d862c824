// Package gcs serves a bucket.Store as Google Cloud Storage.
//
// # Purpose
//
//   - Server handles uploads in one request, reads, paged lists and deletions of the JSON API, and PUT,
//     GET and DELETE with bearer tokens of the XML API. Unknown parameters are refused.
//   - Its token service exchanges an access token for one with a Credential Access Boundary and enforces
//     the bucket, the permissions of the roles, the condition on names and the lifetime. A Tokens,
//     such as gce.Server, handles all other tokens.
//   - Identities have Options.Permissions on the bucket, and none on Options.Foreign.
//
// # Non-goals
//
// There are no signed URLs, resumable uploads, versions, folders or access lists. Conditions may only
// compare names and prefixes of names, combined by or.
//
// # Trade-offs
//
//   - A locked object is under a hold. Options.Bland reports it as forbidden without a reason, as Google
//     did at times.
package gcs
