// Package apierror sends requests to Amazon's APIs and converts their errors to *cloud.Error.
//
// # Purpose
//
//   - Wire sends the requests of the SDK, reads each response completely and checks that it comes from
//     the API.
//   - Failure.Classify returns the error for a failed request. It knows the codes that all APIs share.
//   - Sanitize formats messages without anything that looks like a key or a signed URL.
//
// # Non-goals
//
// The package knows no error codes of EC2 or S3; packages cloud/aws and cloud/aws/objectstore do. It
// does not retry: callers do, by class.
//
// # Trade-offs
//
//   - A response that is incomplete or comes from a proxy is an error of its own, ErrAnswer. The SDK
//     would decode what there is of it.
package apierror
