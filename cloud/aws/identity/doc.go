// Package identity provides the credentials of a CloudAccount for Amazon Web Services, and what all
// of its APIs share: sending requests and classifying errors.
//
// # Purpose
//
//   - Connect creates Credentials. It reads the environment and the identity of the machine for
//     credentials of type Ambient only, and assumes the role of the account if there is one.
//   - Wire sends the requests of the SDK and reads each response completely.
//   - Failure converts an error of the SDK to a cloud.Error.
//
// # Non-goals
//
// The package knows no error codes of EC2 or S3; packages cloud/aws and cloud/aws/objectstore do.
//
// # Trade-offs
//
//   - Ambient credentials are located here. The SDK's default chain does not use the given HTTP
//     client if AWS_CA_BUNDLE is set. Shared files and single sign-on are not supported: pods have
//     neither.
//   - The SDK's stscreds assumes roles. The resulting credentials are cached here instead of in
//     aws.CredentialsCache, which uses the machine's clock, and in which one exchange that hangs
//     blocks all callers.
//   - A configured endpoint serves both STS and EC2. A bucket has an endpoint of its own.
package identity
