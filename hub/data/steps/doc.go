// Package steps runs the steps of a controller that works with a cloud, and maps errors
// of cloud providers to what it does next: the condition to report, whether to continue, and
// when to retry.
//
// # Purpose
//
// A Result is the outcome of a step that cannot continue. FromError derives it from the class
// of a cloud's error, FromMember from the class of an API server's error in a member. Messages
// are deterministic, because they are written to a status. Advance runs named steps in their
// order, up to the first that is not complete.
//
// # Non-goals
//
// The package writes no status and retries nothing.
//
// # Trade-offs
//
// Advance runs all steps from the first on every pass, so that a step looks again at what it
// completed before. A recorded number of the current step could contradict what the member and
// the cloud hold. The answer of a member's API server is left out of messages, because it may
// quote a Job with a signed URL: users see the class of the error only.
package steps
