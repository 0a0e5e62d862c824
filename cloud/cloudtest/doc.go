// Package cloudtest is the contract that every cloud provider passes: one suite of
// cases, the same for all of them.
//
// # Purpose
//
//   - Run puts the cases to a provider. Each gets a Bench of its own, which the
//     provider's test makes: sessions, the cloud behind them, faults.
//   - The caller of the suite keeps the protocol of cloud.Intent as the hub does: it
//     writes down, sends, decides by class, and deletes duplicates after a second look.
//   - Package faults lets requests go wrong; package matrix makes a table of the cases
//     and providers from the output of go test -json.
//
// Whatever a case is about, three things are looked at behind each: every error is a
// *cloud.Error of good form, no error tells a secret, and every request that was sent is
// one that the vendor's own description of its API allows.
//
// # Non-goals
//
// What needs no provider is tested in cloud/csi, where cases 19 and 20 have their
// better half. Buckets have a suite of their own, in package objectstore.
//
// # Trade-offs
//
//   - What a case wants is what all providers can promise. A cloud without a state, as
//     EC2 without Creating, is not asked for it; what cannot be put to a provider at
//     all is in its Bench.Spare with the reason, and shows in the table.
//   - Cases look at the cloud's own state instead of asking the session, so that a
//     session which hides a duplicate does not pass.
//   - CLOUD_SEEDS in the environment is how many schedules of random faults are tried,
//     20 without. A flag would need a variable of the package.
package cloudtest
