// Package apierror turns what the services of Azure answer, or do not, into *cloud.Error.
//
// # What
//
//   - Question is what was asked of a service: the operation, the permission that it
//     needs, whether it changes anything, and what the service means by its refusals.
//   - Question.Fail makes the error of a request. What all services mean by a status is
//     known here: 429, 401, 5xx, and answers that are not the service's at all.
//
// # Not
//
// Nothing is sent, and no code of one service is known here.
//
// # Trade-offs
//
//   - The SDK's own error is not kept as a cause: its text is the whole of an answer.
package apierror
