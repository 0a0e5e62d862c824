// Package controller is the controller for CloudAccounts: it passes their credentials to
// package accounts, and verifies identity and permissions.
//
// # Purpose
//
//   - The spec and, for credentials of type Secret, the Secret are passed to
//     hub/data/accounts. A change of either takes effect and is verified immediately.
//   - Verification asks the provider for the identity of the credentials and, without
//     changing anything, for each required permission in each region in use. If there is
//     a bucket, it lists the first of the hub's objects. decide is a pure function from the
//     responses to the status, which is written only when it changes.
//   - Accounts are verified on every change, and once an hour.
//
// # Non-goals
//
// The package changes nothing at the provider. Ready is not a precondition of anything:
// controllers that use an account that is not Ready get the provider's own errors.
//
// # Trade-offs
//
//   - The bucket has its own condition. An account whose bucket is not ready is Ready,
//     because snapshots do not need the bucket. A bucket may be ready in an account that
//     is not: the keys of another S3-compatible service are not valid for AWS.
//   - Listing a bucket does not prove that dumps can be written, and writing a test object
//     is avoided: the first dump shows it.
//   - Each account has its own queue and worker, so that a provider that does not answer
//     does not delay other accounts.
//   - If the provider does not answer, an account that was verified within the last hour
//     stays Ready, because nothing is known to be wrong.
//   - Permissions are checked in each region in use, at the same time: the regions of the members
//     that use the account, and the regions that their snapshots are copied to. What becomes a
//     region in use is checked within the hour. A provider tests not every permission, and
//     some only if there is something to test them with: Authorized names the others, and is
//     True, since they are not known to be missing.
package controller
