// Package cloudtest is the contract of package cloud: one test suite for all providers.
//
// # Purpose
//
//   - Run runs the cases against a provider. The provider's test builds a Backend for each case:
//     sessions, the state of the cloud behind them, and faults.
//   - The client of the suite follows the protocol of cloud.Intent as the hub does.
//   - Package faults makes requests fail, package matrix turns the output of go test -json into the
//     tables of cloud/cloudtest/README.md.
//
// After every case the suite checks that every error is a well-formed *cloud.Error, that no error
// contains a secret, and that the vendor's API description allows every request that was sent.
//
// # Non-goals
//
// Package cloud/csi tests what needs no provider. Package objectstore tests buckets.
//
// # Trade-offs
//
//   - A case requires what all providers can promise. If a provider does not support a case at all,
//     Backend.Unsupported gives the reason, which appears in the table.
//   - Cases read the state of the cloud directly, so that a session that hides a duplicate fails.
//   - The environment variable CLOUD_SEEDS sets the number of schedules of random faults, 20 by
//     default. A flag would need a package-level variable.
package cloudtest
