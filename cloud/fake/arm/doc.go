// Package arm is Azure Resource Manager in front of a fake.World: managed disks and
// snapshots of Microsoft.Compute over its REST protocol, and the tokens for it.
//
// # Purpose
//
//   - Server answers PUT, GET, DELETE and paged lists of disks and snapshots, the
//     operations that these start, a resource group, the permissions on it, and the
//     client credentials grant of Microsoft Entra ID, all from one address.
//   - It enforces what the service enforces: a bearer token that it gave out and that
//     has not expired, api-version, names, tags, unknown members of a body, what cannot
//     be changed, sources that exist, sizes, locks, attachments.
//   - Limits, Deny, Throttle, Expire and SetPageSize make its bad days; Disk makes a
//     disk as disk.csi.azure.com does.
//
// # Non-goals
//
// No virtual machines, no shared access signatures, no PATCH, no signatures of tokens.
// It knows no SDK: others drive it.
//
// # Trade-offs
//
//   - A resource is a record of the world, so that its state follows from the clock; the
//     operation that made it is looked up by name and tells that state in other words.
//   - What a PUT finds is what there is, not what is visible yet: as in the service, a
//     name that a GET does not show is taken all the same.
package arm
