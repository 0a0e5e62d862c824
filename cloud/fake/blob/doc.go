// Package blob is Azure Blob Storage in front of bucket.Stores: blobs over its REST
// protocol, keys that signatures are made with, and the tokens for it.
//
// # Purpose
//
//   - Server answers Put, Get, Delete and List of block blobs, and Get User Delegation Key,
//     of several storage accounts at one address: <address>/<account> is what
//     <account>.blob.core.windows.net is to the service. Tokens are given out at
//     <address>/<account>/<tenant>/oauth2/v2.0/token.
//   - It enforces what the service enforces: a bearer token that it gave out and that has
//     not expired, or a user delegation signature, which it verifies: that of each version
//     of the service since 2020-12-06, its blob, its permissions, its times by the clock,
//     its protocol. Who may only create is refused over what is there, whatever the
//     conditions of the request.
//   - Deny, Expire and SetPageSize make its bad days; locks are the Store's.
//
// # Non-goals
//
// No account keys and no signatures by them, no blocks, no leases, no snapshots of blobs, no
// folders. It knows no SDK: others drive it.
//
// # Trade-offs
//
//   - A key is computed from what its request says, and from a secret of the account, so
//     that none has to be remembered.
//   - Tokens are those of fake/arm, whose rules for secrets and assertions are the same.
package blob
