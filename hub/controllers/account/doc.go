// Package account is the controller of CloudAccounts: it hands them and their
// credentials to the hub's sessions in the clouds, and tells in their status who the
// hub is there and what it may.
//
// # What
//
//   - The spec and, for credentials of type Secret, the Secret go to hub/accounts. A
//     change of either is used at once, and verified.
//   - Verifying asks the provider who we are and, without changing anything, for each
//     permission that is needed; and the bucket, if there is one, for the first of our
//     objects. decide is a pure function from the answers to the
//     status, written once and only when it differs.
//   - It is done on every change, and once an hour.
//
// # Not
//
// Nothing is changed in a cloud. No account is a precondition of anything: who uses one
// that is not Ready gets the provider's own answer.
//
// # Trade-offs
//
//   - A bucket has a condition of its own. An account whose bucket is not ready is Ready:
//     its snapshots do not need the bucket. A bucket that is ready may be that of an
//     account that is not: keys of another service that speaks S3 are none of AWS.
//   - That a bucket can be listed does not tell that dumps may be written there, and a dump
//     that nobody asked for is no way to find out: the first one does.
//   - Each account has a queue and a worker of its own, so that a provider that does not
//     answer holds up nobody else's.
//   - A provider that does not answer does not make an account not Ready that was
//     verified within the last hour: nothing is known to be wrong with it.
//   - Permissions are asked in one region. Policies that differ by region are found out
//     by the backups there.
package account
