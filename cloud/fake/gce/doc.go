// Package gce is Google's Compute Engine API v1 as far as disks and snapshots go: a wire
// front end on a fake.World.
//
// # Purpose
//
//   - Server speaks the REST API in JSON: snapshots, disks of zones and regions, their
//     operations, zones, regions and projects, with paging, filters, request IDs
//     and Google's bodies of errors. Unknown fields and parameters are refused.
//   - The endpoints that tokens come from are there too, under the same address: /token
//     for keys of service accounts, whose signature is checked, /v1/token for tokens of
//     other issuers, and generateAccessToken for acting as a service account.
//   - Server.CSIDisk adds a disk as Google's CSI driver would make it.
//
// # Non-goals
//
// No machines, images, schedules or instant snapshots, and no policies: an identity may
// do everything in the projects that it was granted, but what Server.Forbid took away.
//
// # Trade-offs
//
//   - An operation is never done in the answer that started it, though the real one
//     sometimes is: who does not ask again must fail against this one.
//   - What an operation comes to is read from the world when it is asked for, so that
//     moving the clock is enough.
package gce
