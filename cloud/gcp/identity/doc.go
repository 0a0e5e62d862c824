// Package identity is who a session is in Google Cloud, and gets its tokens.
//
// # What
//
// Credentials keep a token until it expires or is refused. They are made from a
// CloudAccount by Connect, which sends nothing: the key of a service account, the hub's
// own token that Google's Security Token Service exchanges, or what the machine or pod
// of the hub is.
//
// # Not
//
// Nothing of the environment is looked at unless the account says Ambient. Keys of other
// types than service_account are refused: they may name programs to run and files to
// read, and whoever writes the Secret is not trusted with the hub.
//
// # Trade-offs
//
//   - The SDK's errors repeat what the token service answered, and tell its status in
//     their text alone. Both are taken from the answer itself, and an Error keeps no
//     more than a short code of it.
//   - A token service on a loopback address is used only with an endpoint on one.
package identity
