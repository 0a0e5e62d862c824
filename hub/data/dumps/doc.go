// Package dumps defines the layout of dumps in a bucket, and runs the Jobs in members that
// upload and download them.
//
// # Purpose
//
//		shopfleet/<hub>/<application>/<backup>-<hash>/part-00000 ...
//		shopfleet/<hub>/<application>/<backup>-<hash>/manifest.json
//
//	  - Prefix, PartKey and ManifestKey return names that each process computes alike. The
//	    hash is of the Backup's UID, so that another Backup of the name has other keys.
//	  - A Manifest describes a dump so that a Backup can be created from it. Seal writes it last,
//	    when the bucket lists all parts with their sizes: parts without one are no dump.
//	  - ToSend and ToFetch return orders for a Job in a member, with the signed requests that it
//	    needs and no others.
//	  - Deliver creates the Job and its order, Look reads its result, Withdraw deletes the order,
//	    and Stop the Job.
//	  - Erase deletes the manifest first, so that a dump that is partly deleted is none.
//
// # Non-goals
//
// The package writes no status, and does not decide what follows from the result of a Job: that
// differs between packages hub/data/backup and hub/data/restore. Package
// spoke/render/database/jobs renders the Jobs.
//
// # Trade-offs
//
//   - The Secret with an order is created before its Job and belongs, as the Job does, to the
//     copy in the member. If it belonged to the Job, it would be deleted with it; but then the
//     Job would have to be created suspended and changed later, which the hub may not do in
//     members with an agent, or its pod would start without the order. So Withdraw deletes the
//     Secret when the Job has ended. If the hub dies in between, the signed requests in the
//     Secret expire within the hour, and it is deleted with the copy.
//   - A manifest is the same for each pass that writes it: its completion time is that of the
//     newest part in the bucket. A hub that restarts after writing it writes the same one
//     again, which the bucket accepts.
//   - Manifests are not trusted: every user who may write to the bucket can write one.
package dumps
