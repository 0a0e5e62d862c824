// Package objectstore is a bucket of Amazon S3, or of another service that speaks S3.
//
// # What
//
//   - Open makes the Objects of an account, with the credentials that package identity
//     makes of a CloudAccount.
//   - Every PUT carries If-None-Match: *, and a signed one has it in its signature: nobody
//     who holds it can leave it out, and S3 writes nothing over.
//   - Under an endpoint of its own the bucket is in the path, and without one in the host.
//
// # Not
//
// No retries, neither ours nor the SDK's. No parts: an object of 1 GiB goes in one PUT. No
// storage classes, keys and tags: those are the bucket's own defaults.
//
// # Trade-offs
//
//   - Answers must look like S3's before anything is concluded from them: a list and a
//     refusal are XML documents that end, what is read or written has an ETag, and a
//     deletion is answered with 204. A captive portal says OK to everything.
//   - That nothing is written over is the service's promise. One that speaks S3 and does not
//     know If-None-Match may ignore it, and is of no use here.
//   - A signed request ends with the credentials that signed it. Those that would end
//     within half of the life that is asked for are got anew before.
//   - Requests are signed with the time of config.Clock. One that S3 calls too skewed is
//     AuthExpired: the credentials are not accepted as they are used.
//   - With Object Lock a bucket has versions, and a deletion hides the object without being
//     refused; Locked are those that say so in their words.
//   - Who owns the bucket is not asked: one in an account for backups alone is a good idea.
package objectstore
