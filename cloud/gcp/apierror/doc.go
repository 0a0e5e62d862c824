// Package apierror converts responses of Google's APIs to *cloud.Error.
//
// # Purpose
//
//   - Classify returns the class of a failed request: by the reason in Google's error body, else by
//     the status, else by how the response was lost.
//   - OneLine and Refuse format messages without anything that looks like a token.
//
// # Non-goals
//
// The package sends nothing and does not retry. Callers retry by class.
//
// # Trade-offs
//
//   - Compute Engine and Cloud Storage share one table of reasons. An ambiguous reason has the
//     meaning of Compute Engine. Cloud Storage reports conditionNotMet for an upload of an existing
//     object; its adapter handles that itself.
//   - A response without Google's error body comes from a proxy, whatever its status. For a change
//     it is Ambiguous.
package apierror
