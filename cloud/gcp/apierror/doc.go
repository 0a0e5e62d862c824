// Package apierror turns what Google's APIs answer into errors of the port.
//
// # What
//
//   - Classify knows the class of a request that failed: from the short reason in
//     Google's body, else from the status, else from what of the answer was lost.
//   - OneLine and Refuse word messages, without anything that looks like a token.
//
// # Not
//
// Nothing is sent, and nothing repeated: the caller repeats, by class.
//
// # Trade-offs
//
//   - Compute Engine and Cloud Storage share one table of reasons. A reason that means
//     two things is read as Compute Engine means it: a conditionNotMet of an upload is
//     Cloud Storage's word for an object that is there already, and its adapter looks.
//   - An answer without one of Google's bodies is that of a proxy, whatever its status:
//     a change that was answered so is Ambiguous.
package apierror
