// Package aws is Amazon Web Services: EBS snapshots and volumes through the API of EC2.
//
// # What
//
//   - Connect makes the session of an account in a region. Credentials are what the
//     CloudAccount says and nothing else: see package identity.
//   - A snapshot or volume is found by its tags for name and hub. EC2 lets any number
//     of snapshots have the same; the oldest that did not fail is the one, the others
//     are its Duplicates.
//   - The UID of a volume is its ID: EC2 gives none twice.
//
// # Not
//
// No retries, neither ours nor the SDK's: EC2 makes another snapshot each time it is
// asked, and the SDK asks again when an answer is lost. Every method sends each of
// its requests once, and its error says whether to come again.
//
// # Trade-offs
//
//   - Answers are read whole and must be an XML document that ends: the SDK takes an
//     empty page of a captive portal for an empty list, and from an empty list we would
//     conclude that there is no snapshot yet.
//   - CopySnapshot answers with an ID and no more, so that a new copy is Creating until
//     it is looked at, and Cut from then on.
//   - Preflight asks with DryRun about what is there: the rights of a good policy depend on tags,
//     and an ID that nothing has would be refused whatever the policy says. In an
//     account without volumes and backups the rights about them are left out.
//   - Which code refuses the deletion of a locked snapshot is not documented; those that
//     may are taken for it.
package aws
