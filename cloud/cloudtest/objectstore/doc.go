// Package objectstore is the contract of cloud.ObjectStore: one test suite for the buckets of all
// providers, as package cloudtest is for snapshots and volumes.
//
// # Purpose
//
//   - Run runs the cases against a provider. The provider's test builds a Backend for each case:
//     Objects, the bucket behind them, faults, and a sender of signed requests without credentials.
//   - The numbers of the cases begin at 51, after those of package cloudtest.
//
// After every case the suite checks that every error is a well-formed *cloud.Error, that no error
// contains a secret or a signed URL, and that the vendor's API description allows every request.
//
// # Non-goals
//
// The suite does not test uploads from a member: package spoke/transfer has its own tests. Snapshots
// and volumes are the subject of package cloudtest.
//
// # Trade-offs
//
//   - Cases read the bucket directly, so that an adapter that overwrites objects unnoticed fails.
//   - Responses to signed requests are checked as far as spoke/transfer depends on them: 2xx, 404,
//     and other 4xx.
package objectstore
