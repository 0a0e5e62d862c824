// Package arm serves a fake.Cloud as Azure Resource Manager: managed disks and snapshots of
// Microsoft.Compute, and the tokens for them.
//
// # Purpose
//
//   - Server handles PUT, GET, DELETE and paged lists of disks and snapshots, operations, a resource
//     group, its permissions, and the client credentials grant of Microsoft Entra ID.
//   - It enforces what the service enforces: tokens, api-version, names, tags, unknown fields,
//     immutable properties, sources, sizes, locks and attachments.
//   - Limits, Deny, Throttle, Expire and SetPageSize simulate failures; Disk creates a disk as
//     disk.csi.azure.com does.
//
// # Non-goals
//
// There are no virtual machines, no PATCH, and no signatures of tokens.
//
// # Trade-offs
//
//   - The state of an operation is derived from its resource, and so from the clock.
//   - A PUT conflicts with resources that are not visible to GET yet, as in the service.
package arm
