// Package accounts keeps the hub's sessions in the clouds, and its buckets there.
//
// # What
//
//   - Accounts is told of each CloudAccount with its credentials (Set, Remove) and hands
//     out sessions, one for each account and region, and the account's bucket, made when
//     first asked for.
//   - A change of an account, or of its Secret, makes its next sessions anew, and its
//     bucket; what runs on the old ones ends as it would have.
//   - Each account has a budget of its own in each region, and one for its bucket: one
//     part for reads and one for changes, below what the providers allow. A call that
//     would have to wait is Throttled at once, with the time to wait: nobody is held up,
//     and no request sent.
//   - Requests are counted by account and outcome.
//   - Skew compares the hub's clock with the provider's, by the Date of responses.
//
// # Not
//
// No CloudAccount is read or written here, and no Secret: that is the controller's. No
// retries: callers decide by the class of the error.
//
// # Trade-offs
//
//   - Each account has connections of its own, although accounts of one provider share
//     hosts: the bound on connections must not make one wait for another that hangs.
//   - A bucket has connections of its own again. Its endpoint may be a service in a
//     cellar, behind authorities of its own, and these are trusted for nothing else: a
//     request to another host, where tokens are exchanged, is verified as ever.
//   - Secrets are kept in memory as long as their account is, since sessions renew their
//     tokens with them.
package accounts
