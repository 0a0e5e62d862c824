// Package azure is the cloud of Microsoft: managed disks and their snapshots, through
// Azure Resource Manager.
//
// # What
//
//   - Connect makes a cloud.Session of a CloudAccount in one region. All that it makes
//     is in the account's resource group, which is listed whole: there is no filter by
//     tag on the server. Volumes may be in any group of the subscription.
//   - Everything is a PUT by name after a GET. A snapshot's name is that of its spec,
//     with "-<attempt>" after a failure; a copy's has a hash of its region as well,
//     because a group has one snapshot of a name whatever its region.
//   - Snapshots are incremental, and closed to the network.
//   - A snapshot is Creating while it is provisioned, Cut when that has succeeded, and
//     Ready when completionPercent is 100 or absent. A copy that cannot be finished is
//     Failed with the service's copyCompletionError.
//
// # Endpoints
//
// Config.Endpoint replaces https://management.azure.com. Of the sovereign clouds the
// sign-in host and the audience are those of that cloud. On a loopback address tokens
// are asked for at the endpoint itself (<endpoint>/<tenant>/oauth2/v2.0/token), which
// may be plain http. Everything else, a private endpoint, signs in at the public cloud.
//
// Who the hub is there, is in package identity.
//
// # Not
//
// No poller is followed: how far something is, is read from the resource itself, so that
// the permission to read operations is not needed and a restart forgets nothing. No
// request is repeated, but for one whose token had expired. No shared access
// signatures, and no registration of resource providers.
//
// # Trade-offs
//
//   - Why a snapshot failed while it was made is told by the operation alone, which is not
//     kept; the message names the activity log. Failed copies say why.
//   - A check of permissions reads those on the account's resource group. Those on disks
//     in other groups show when a disk is read.
package azure
