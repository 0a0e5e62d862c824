// Package identity is who the hub is in Azure: where tokens are given out, how one is
// had, and that it goes to nobody else.
//
// # What
//
//   - Locate finds the sign-in host and the audience of an endpoint, and Place.Blobs those
//     of a storage account.
//   - New makes a Bearer of the credentials that a CloudAccount names. It authorizes the
//     requests of the SDK, replaces a token before its end by the injected clock, and
//     repeats a request once that was refused because its token had expired.
//   - Line and RetryAfter read answers, for errors here and in the adapters.
//
// # Not
//
// No token is kept but in memory, none is checked, and none is sent to a host that an
// answer names. The environment is read for credentials of type Ambient alone.
//
// # Trade-offs
//
//   - Client secrets and assertions are exchanged here and not by azidentity, which
//     serves the Ambient type alone: it takes a region from AZURE_REGIONAL_AUTHORITY_NAME
//     or MSAL_FORCE_REGION and sends the credentials there, whoever they belong to, it
//     asks two more endpoints before the first token, and its errors quote whole answers.
//   - Claims challenges are not answered: tokens are of the short-lived kind, which the
//     service does not challenge.
package identity
