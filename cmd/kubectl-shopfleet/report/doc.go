// Package report builds an archive for a support request, without secrets.
//
// # Purpose
//
// Text and Object replace what looks like a credential. Archive is a gzipped tar file with an
// index of its files, and of what could not be read.
//
// # Non-goals
//
// The package reads nothing from clusters: package commands does.
//
// # Trade-offs
//
//   - Too much is replaced rather than too little: all values of environment variables,
//     annotations that hold documents, values of keys that sound like credentials, and
//     certificates with their PEM blocks. A value without any sign of being a credential,
//     such as a password that stands alone in a log line, cannot be recognized.
//   - Secrets are never added as objects: only their names and keys are.
//   - Each file has a maximum size. The end of a log is kept, and the beginning of a list.
package report
