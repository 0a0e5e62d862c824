// Package azure implements package cloud for Microsoft Azure: managed disks and their snapshots.
//
// # Purpose
//
//   - Connect creates a Session for an account and a region. It creates everything in the resource
//     group of the account. Lists read the whole group, because Azure Resource Manager does not
//     filter by tag. Volumes may be in any group of the subscription.
//   - Every change is a PUT by name after a GET. A snapshot has the name of its spec, with the
//     suffix "-<attempt>" after a failure. The name of a copy also contains a hash of its region,
//     because names are unique in a group, not in a region.
//   - Snapshots are incremental and not accessible over the network. A copy is encrypted with the disk
//     encryption set that the account has for its region.
//   - A snapshot is Creating while it is provisioned, then Taken, and Ready when completionPercent
//     is 100 or absent. A copy that cannot be completed is Failed with copyCompletionError.
//
// # Endpoints
//
// Config.Endpoint replaces https://management.azure.com. For sovereign clouds it also selects the
// authority and the audience. For a loopback address, which may be plain http, tokens are requested
// from the endpoint itself (<endpoint>/<tenant>/oauth2/v2.0/token). All other endpoints are private
// endpoints of the public cloud. Package identity provides the credentials.
//
// # Non-goals
//
// The package does not poll operations. It reads the progress from the resource, which needs no
// permission on operations and survives a restart. It repeats a request only if the token had
// expired. It uses no shared access signatures and does not register resource providers.
//
// # Trade-offs
//
//   - Only the operation reports why the creation of a snapshot failed, and it is not kept. The
//     message refers to the activity log. Failed copies report the reason.
//   - Preflight reads the permissions on the resource group of the account. Missing permissions on
//     disks in other groups are found when a disk is read. It reads the disk encryption set of the region.
package azure
