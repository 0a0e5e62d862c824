// Package arm serves a fake.Cloud as Azure Resource Manager: managed disks and snapshots of
// Microsoft.Compute, and the tokens for them.
//
// # Purpose
//
//   - Server handles GET of disks, PUT, GET and DELETE of snapshots, paged lists of snapshots, a
//     resource group, its permissions, and the client credentials grant of Microsoft Entra ID.
//   - It enforces what the service enforces: tokens, api-version, names, tags, unknown fields,
//     immutable properties, sources and locks. A request needs a role on
//     its resource group, and one on the group of each resource that its body links to.
//   - Limits, Deny, Throttle, Expire and SetPageSize simulate failures; AddDisk adds a disk as
//     disk.csi.azure.com does.
//
// # Non-goals
//
// There are no virtual machines, no lists of disks, no PATCH, no signatures of tokens, and no
// operations to poll: a PUT and a DELETE return the URL of one that does not exist.
//
// # Trade-offs
//
//   - A PUT conflicts with resources that are not visible to GET yet, as in the service.
package arm
