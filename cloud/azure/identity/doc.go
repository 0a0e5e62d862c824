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
//   - Tokens are requested by azidentity, for each token with new credentials: those of an application
//     that have returned a token return it again until it expires, even if it was refused. Managed
//     identities share one cache in the process, which new credentials do not replace: a refused token
//     of theirs is returned again until it expires or is due for a refresh. The library's requests
//     are sent to the authority of the account, because AZURE_REGIONAL_AUTHORITY_NAME and
//     MSAL_FORCE_REGION make it choose another host (and fail, if they name no region). Errors are
//     made from the response, because the texts of the library's contain it. Each token of an
//     application costs a request for the address of the token service.
//   - Bearer takes the place of azcore's policy for bearer tokens. In that policy a request waits for
//     the token of another one beyond its own deadline, the token is sent to any host that a response
//     names as the next page, and a request whose token had expired fails.
//   - Claims challenges are not answered: the tokens are short-lived, and the service does not
//     challenge them.
package identity
