// Package rediscover creates Backups for snapshots in the cloud and dumps in a bucket
// that the hub has no Backup of: its objects were lost, or deleted without
// spec.deletion: Delete.
//
// # Purpose
//
//   - It handles the annotation ecommerce.io/rediscover-at of a CloudAccount: it lists
//     snapshots in the account's regions, groups them by their tags, and creates each
//     missing Backup together with its status.
//   - A region that does not answer does not delay the others: a Backup that is complete
//     without it is created, the result names the region, and the request is handled once
//     it answers. What it has of these Backups is added to them then, as copies.
//   - It also lists the account's bucket: every prefix with a manifest is a dump. A
//     manifest that is unreadable or in the wrong place is counted and skipped.
//   - With the annotation ecommerce.io/rediscover-hub it looks for backups of a former
//     hub with that UID. They can be restored. The hub of each is in its status: retention deletes
//     none of another hub, which may exist, and a user who marks one with spec.deletion: Delete
//     deletes its data with it. With the annotation ecommerce.io/take-over-hub as well, the hub
//     claims them in the bucket.
//
// # Non-goals
//
// It changes nothing in a cloud but for that claim. Of existing Backups it changes only those that it has created, and adds
// copies to them. It creates nothing of a region, or of a bucket, whose list is incomplete.
//
// # Trade-offs
//
//   - Rediscovery runs on request only: otherwise a hub that was reinstalled by mistake
//     would create and delete Backups of the old one.
//   - A Backup is created before its status is written. Its annotation marks it as
//     rediscovered, so that package backup ignores it.
package rediscover
