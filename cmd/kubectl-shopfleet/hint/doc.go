// Package hint attaches a hint to an error: a second sentence that says what the user can do.
//
// # Purpose
//
// The package has an error that carries a hint, and hints for well-known errors that carry
// none: a server that does not respond, a kind that is not installed, credentials that are
// rejected.
//
// # Non-goals
//
// The package does not print, and never considers the text of an error.
//
// # Trade-offs
//
// The outermost hint wins, because the code closer to the user knows
// more about what they wanted.
package hint
