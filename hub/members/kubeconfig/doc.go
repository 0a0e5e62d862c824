// Package kubeconfig decides whether a kubeconfig from a registration Secret may
// be used, and makes a client configuration of it.
//
// # What
//
//   - Parse: bytes to Access, or to an *Error with the reason of a condition and a
//     message that names the field and says what to do.
//   - Only inline data is used. Whatever would run a program, read a file of this
//     machine, go through a proxy, skip verification or act as somebody else is
//     refused: who may write such a Secret could otherwise run code in the hub, or
//     have it hand its own credentials to a server of their choice.
//   - Access.Fingerprint tells whether a kubeconfig says something new, and
//     Access.ExpiresAt when its credentials end.
//
// # Not
//
// No client, network or clock. A token's signature is not verified: the cluster
// does that, and its expiry is shown to people only.
//
// # Trade-offs
//
//   - Only the current context is looked at. A file with an exec plugin in another
//     context is fine, since nothing of that context is copied.
//   - Messages never quote the file, and a parser's own error is dropped, because
//     it may quote a line with a secret in it.
package kubeconfig
