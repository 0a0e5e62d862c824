// Package rediscover makes Backups of snapshots that are in the cloud, and of dumps that
// are in a bucket, and that the hub does not know: its objects were lost, or deleted without spec.deletion: Delete.
//
// # What
//
//   - It answers the annotation ecommerce.io/rediscover-at of a CloudAccount: the
//     account's regions are listed, snapshots are put together by their tags, and a
//     Backup is made, with its status, of each that there is none of.
//   - So is the account's bucket: what has a manifest there is a dump. A manifest that is
//     not readable, or that lies where it does not belong, is counted and left out.
//   - Of a hub that is no more, whose UID ecommerce.io/rediscover-hub gives, backups are
//     found as well. They can be restored, and are never deleted by this hub.
//
// # Not
//
// Nothing is changed in a cloud. A Backup that exists is left as it is, whatever the
// cloud says. Nothing is made when a list is not complete.
//
// # Trade-offs
//
//   - It is asked for and does not happen by itself: in the account of a hub that was
//     set up anew by mistake, backups of the old one would come and go.
//   - A Backup is made before its status is written. What tells that it was found is an
//     annotation, with which package backup leaves it alone.
package rediscover
