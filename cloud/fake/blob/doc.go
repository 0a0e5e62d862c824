// Package blob serves bucket.Stores as Azure Blob Storage: blobs, user delegation keys, and tokens.
//
// # Purpose
//
//   - Server handles Put, Get, Delete and List of block blobs, and Get User Delegation Key, for several
//     storage accounts: <address>/<account> stands for <account>.blob.core.windows.net. Tokens are
//     issued at <address>/<account>/<tenant>/oauth2/v2.0/token.
//   - It accepts bearer tokens that it issued, and user delegation signatures of each version of the
//     service since 2020-12-06, which it verifies. A signature with permission to create only is
//     refused for existing blobs, whatever the conditions of the request are. Applications have
//     Options.Role, but not on Account.Foreign.
//   - Deny, Expire and SetPageSize simulate failures; the Store has locks.
//
// # Non-goals
//
// There are no account keys, blocks, leases, snapshots of blobs, or folders.
//
// # Trade-offs
//
//   - A key is computed from its request and a secret of the account, and not stored.
//   - Package fake/arm issues the tokens.
package blob
