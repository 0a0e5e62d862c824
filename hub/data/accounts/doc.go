// Package accounts provides sessions with cloud providers, and access to buckets, for
// the hub's CloudAccounts.
//
// # Purpose
//
//   - The CloudAccount controller adds, changes and removes accounts with their
//     credentials (Set, Remove). Accounts returns one session for each account and
//     region, and the account's bucket, created on first use.
//   - After a change of an account or of its Secret, new sessions and a new bucket are
//     created on the next use. Calls in progress finish with the old ones.
//   - Deletions are requested with the identity of spec.deletion, if the account names one. Both
//     identities share the account's connections and rate limits.
//   - Each account has a rate limit per region, and one for its bucket, with separate
//     limits for reads and changes, below the limits of the providers. A call that
//     exceeds it fails immediately as Throttled with the time to wait, and sends no
//     request.
//   - In safe mode each call that may change something fails with CodeSafeMode. That is decided
//     by the rate limit that the call counts for, so that a new call cannot be forgotten.
//   - Requests are counted by account and outcome.
//   - Skew compares the hub's clock with the provider's, by the Date header of responses.
//
// # Non-goals
//
// The package reads and writes no CloudAccounts or Secrets: the controller does. It
// does not retry: callers decide by the class of the error.
//
// # Trade-offs
//
//   - Accounts do not share connections, even with the same provider, so that an account
//     whose connections hang does not exhaust the connection limit of another.
//   - A bucket has separate connections again. Its endpoint may be on premises and use a
//     private certificate authority, which is trusted for that endpoint only: requests to
//     other hosts, such as token endpoints, are verified as usual.
//   - Secrets are kept in memory as long as their account exists, because sessions use
//     them to renew tokens.
package accounts
