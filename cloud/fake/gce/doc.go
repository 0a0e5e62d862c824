// Package gce serves a fake.Cloud as Google Compute Engine, as far as snapshots and reads of disks go.
//
// # Purpose
//
//   - Server handles the REST API: snapshots, disks of zones and regions, global operations, zones and
//     projects, with paging, filters, request IDs and Google's error bodies. Unknown fields and
//     parameters are refused.
//   - It also issues tokens: /token for keys of service accounts, whose signature it verifies,
//     /v1/token for tokens of other issuers, and generateAccessToken to impersonate a service account.
//   - CSIDisk creates a disk as Google's CSI driver does.
//
// # Non-goals
//
// There are no machines or images, and one role: an identity may do in its projects what
// Options.Permissions has and Forbid did not remove.
//
// # Trade-offs
//
//   - An operation is never done in the response that started it, although Google sometimes does that:
//     a client that does not ask again must fail.
//   - The result of an operation is derived from the Cloud, and so from the clock.
package gce
