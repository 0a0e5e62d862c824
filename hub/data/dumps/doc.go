// Package dumps defines the layout of dumps in a bucket.
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
//	  - Erase deletes the manifest first, so that a dump that is partly deleted does not count.
//
// # Non-goals
//
// The package writes no status and runs no Jobs; package hub/data/memberjob does.
//
// # Trade-offs
//
//   - A manifest is the same for each pass that writes it: its completion time is the time of
//     the newest part in the bucket. A hub that restarts after writing it writes the same one
//     again, which the bucket accepts.
//   - Manifests are not trusted: every user who may write to the bucket can write one.
package dumps
