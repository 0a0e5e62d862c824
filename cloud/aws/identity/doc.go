// Package identity provides the credentials of a CloudAccount for Amazon Web Services.
//
// # Purpose
//
//   - Check validates the configuration of an account.
//   - Connect creates credentials in a cache of the SDK. It reads the environment and the identity
//     of the machine for credentials of type Ambient only, and assumes the role of the account if
//     there is one.
//
// # Non-goals
//
// The package sends no requests but those for credentials. Package cloud/aws/apierror sends and
// classifies those of all APIs.
//
// # Trade-offs
//
//   - Ambient credentials are located here, and requested by the SDK's providers. Its
//     config.LoadDefaultConfig would save 39 lines and add 1.8 MB to the hub. With an HTTP client of
//     ours it fails where AWS_CA_BUNDLE is set; it resolves the host of an http endpoint without a
//     context, refuses a token file that ends with a newline, and keeps only the text of an error
//     about a token file that cannot be read. Shared files and single sign-on are not supported: pods
//     have neither.
//   - aws.CredentialsCache keeps credentials by the machine's clock, and detaches an exchange from
//     the contexts of its callers. Each exchange therefore has a timeout of its own, and one that
//     hangs is repeated once: it delays the callers of one account only, and each no longer than its
//     own context.
//   - A configured endpoint serves both STS and EC2. A bucket has an endpoint of its own.
package identity
