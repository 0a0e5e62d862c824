// Package apierror converts responses of Azure services, and lost responses, to *cloud.Error.
//
// # Purpose
//
//   - Question describes a request: the operation, the required permission, whether it changes
//     anything, and how the service's error codes are classified.
//   - Question.Fail returns the error for a request. It classifies what all services share: status
//     429, 401 and 5xx, and responses that are not the service's own.
//
// # Non-goals
//
// The package sends no requests and knows no error codes of a single service.
//
// # Trade-offs
//
//   - The SDK's error is not kept as the cause, because its text is the whole response.
package apierror
