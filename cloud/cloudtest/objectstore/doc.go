// Package objectstore is the contract of a provider's buckets: one suite of cases, the same
// for all of them, as package cloudtest is for snapshots and volumes.
//
// # Purpose
//
//   - Run puts the cases to a provider. Each gets a Bench of its own, which the provider's
//     test makes: Objects, the bucket behind them, faults, and a stranger who holds a
//     signed request and no credentials.
//   - The numbers begin at 51: the table in cloud/README.md is one.
//
// Whatever a case is about, three things are looked at behind each: every error is a
// *cloud.Error of good form, no error tells a secret or a signed URL, and every request
// that was sent is one that the vendor's own description of its API allows.
//
// # Non-goals
//
// No cases without a provider: what cloud.CheckKey takes is tested beside it.
//
// # Trade-offs
//
//   - Cases look at the bucket itself instead of asking Objects, so that an adapter which
//     hides what it wrote over does not pass.
//   - What a stranger is told is looked at as far as spoke/transfer decides on it: 2xx, 404,
//     and another 4xx.
package objectstore
