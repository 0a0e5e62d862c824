// Package credentials brings the passwords of a database to where its data is brought.
//
// # What
//
//   - Carry copies the Secrets that were generated for a database from one member to
//     another that has none.
//   - Differ reports whether two members that both have them have the same.
//   - Move says what either means to a Restore.
//
// # Not
//
// Secrets that an application names itself are its own matter. Nothing is kept: what is
// read from the one member is written to the other.
//
// # Trade-offs
//
//   - Passwords are in no backup, and on the hub neither. When the member that was backed
//     up is lost, so are they, unless they are in a Secret of the application's own.
package credentials
