// Package identity provides the credentials of a CloudAccount for Microsoft Azure.
//
// # Purpose
//
//   - Locate returns the Environment of an endpoint: its authority and its audience.
//     Environment.Blobs returns the Environment of a storage account.
//   - New creates a Bearer, which authorizes the requests of the SDK. It renews a token before it
//     expires by the injected clock, and repeats a request once if the token had expired.
//   - Line and RetryAfter read responses for error messages here and in the adapters.
//
// # Non-goals
//
// Tokens are kept in memory only. They are not verified, and never sent to a host that a response
// names. The environment is read for credentials of type Ambient only.
//
// # Trade-offs
//
//   - Client secrets and assertions are exchanged here; azidentity serves credentials of type
//     Ambient only. AZURE_REGIONAL_AUTHORITY_NAME and MSAL_FORCE_REGION make azidentity send the
//     credentials of any account to another host, it sends two more requests before the first token,
//     it caches tokens by the machine's clock, refuses authorities without TLS, and its errors
//     contain whole responses.
//   - Claims challenges are not answered: the tokens are short-lived, and the service does not
//     challenge them.
package identity
