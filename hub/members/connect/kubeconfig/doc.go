// Package kubeconfig validates the kubeconfig of a registration Secret and converts it
// into a client configuration.
//
// # Purpose
//
//   - Parse returns an Access, or an *Error with the reason of a condition and a
//     message that names the field and says what to do.
//   - Only inline data is accepted. A kubeconfig that would run a program, read a file,
//     use a proxy, skip TLS verification or impersonate another user is rejected:
//     otherwise a user who can write such a Secret could run code in the hub, or make
//     it send its own credentials to a server of their choice.
//   - Access.Fingerprint identifies the content of a kubeconfig; Access.ExpiresAt is the
//     expiry of its credentials, and Access.Account the ServiceAccount of its token.
//   - WithToken replaces the token of a kubeconfig.
//
// # Non-goals
//
// The package uses no client, network or clock. It does not verify the signature of a
// token: the cluster does, and the expiry is only displayed.
//
// # Trade-offs
//
//   - Only the current context is checked. An exec plugin in another context is
//     harmless, because nothing of that context is copied.
//   - Messages never quote the kubeconfig. Parser errors are dropped, because they may
//     quote a line that contains a secret.
package kubeconfig
