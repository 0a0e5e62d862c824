// Package identity provides the credentials of a CloudAccount for Google Cloud.
//
// # Purpose
//
// Connect creates Credentials without sending a request: from the key of a service account, from a
// token of the hub that Google's Security Token Service exchanges, or from the identity of the hub's
// machine or pod. Credentials keep a token until it expires or is refused.
//
// # Non-goals
//
// The environment is read for credentials of type Ambient only. Key files of types other than
// service_account are refused: they may name programs to run and files to read, and the author of
// the Secret is not trusted with the hub.
//
// # Trade-offs
//
//   - Errors of the SDK contain the response of the token service, and its status in their text
//     only. Both are read from the response itself, and an Error keeps a short code of it.
//   - Package downscope of the SDK knows no token service but https://sts.googleapis.com. A transport
//     sends its requests to the one of the endpoint. It counts the lifetime of a token from the
//     response, by the machine's clock.
//   - Tokens are kept here. auth.NewCachedTokenProvider holds a mutex while it requests one, so that
//     other callers wait beyond their own deadlines, and does not forget a token that was refused.
//   - The metadata server is asked here: DetectDefault of the SDK probes for it and asks it with
//     HTTP clients of its own.
//   - A token service on a loopback address is used only if the endpoint is on one.
package identity
