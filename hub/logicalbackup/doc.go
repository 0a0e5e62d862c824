// Package logicalbackup knows how dumps lie in a bucket, and how the Jobs that carry them there
// and back are handled.
//
// # Purpose
//
//		shopfleet/<hub>/<application>/<backup>-<hash>/part-00000 ...
//		shopfleet/<hub>/<application>/<backup>-<hash>/manifest.json
//
//	  - Prefix, PartKey and ManifestKey return names that each process computes alike. The
//	    hash is of the Backup's UID, so that another Backup of the name has other keys.
//	  - Manifest: what a Backup can be made of again. It is written by Seal, last, when the
//	    bucket shows all parts with their sizes; what has no manifest is no dump.
//	  - ToSend and ToFetch: orders for a Job in a member, with the requests signed that it
//	    takes and no others.
//	  - Deliver, Look, Withdraw and Stop: the Job, what came of it, and its order's end.
//	  - Erase: the manifest goes first, so that what is half gone is no dump any more.
//
// # Non-goals
//
// No status is written here, and it is not decided here what follows from how a Job ended:
// that differs between packages hub/controllers/backup and hub/controllers/restore. What
// the Jobs look like is a matter of package spoke/render/database/jobs.
//
// # Trade-offs
//
//   - A Secret with an order is there before its Job and belongs, as the Job does, to the
//     copy in the member. If it belonged to the Job it would go with it; but for that
//     either the Job is made first and suspended, and changed later, which the hub may not
//     do where an agent is, or its pod begins without the order. So Withdraw deletes the
//     Secret when the Job has ended. What a hub that dies in between leaves behind expires
//     within the hour, and goes with the copy.
//   - A manifest says nothing of the pass that wrote it: its time of completion is that of
//     the newest part in the bucket. So a hub that died after it wrote it writes the same
//     one again, which the bucket takes for what it is.
//   - Manifests are not trusted: every user who may write to the bucket can write one.
package logicalbackup
