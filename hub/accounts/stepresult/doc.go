// Package stepresult maps errors of cloud providers to what a controller does next: the
// condition to report, whether to continue, and when to retry.
//
// # What
//
// A Result is the outcome of a step that cannot continue. FromError derives it from the
// class of an error. Messages are deterministic, because they are written to a status.
//
// # Not
//
// The package writes no status and retries nothing.
package stepresult
