// Package bench is what the cases of the contract stand on: a provider with the cloud
// behind it, and a caller that asks as the hub does.
//
// # What
//
//   - Bench is what a provider's test makes; package cloudtest has it under its own name.
//   - Stand is a bench with a case at work on it. It sees every error that a session
//     returns and every request that was sent, and checks after the case what is true of
//     all of them.
//   - Caller keeps the protocol of cloud.Intent, and decides by class.
//
// # Not
//
// No case, and nothing of a provider.
//
// # Trade-offs
//
//   - A package of its own, and not part of cloudtest, since cases are in packages that
//     cloudtest imports.
package bench
