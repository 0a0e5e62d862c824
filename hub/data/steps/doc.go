// Package steps runs the steps of a controller that works with a cloud, and maps errors
// of cloud providers to what it does next: the condition to report, whether to continue, and
// when to retry.
//
// # Purpose
//
// A Result is the outcome of a step that cannot continue. FromError derives it from the class
// of a cloud's error, FromMember from the class of an API server's error in a member. Messages
// are deterministic, because they are written to a status. Advance runs named steps in their
// order, up to the first that is not complete, and records in the status when each of them was
// begun and complete: that is where the object stands.
//
// # Non-goals
//
// The package sends no status to the server and retries nothing.
//
// # Trade-offs
//
// Advance runs all steps from the first on every pass, so that a step looks again at what it
// completed before, because the record could contradict what the member and the cloud hold. A step that is
// Once, such as one behind which there is no way back, is not run again when it is complete. Of an object that a build without the record
// began, the times are those of the first pass with it. The answer of a member's API server is left out of messages, because it may
// quote a Job with a signed URL: users see the class of the error only.
package steps
