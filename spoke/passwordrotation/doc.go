// Package passwordrotation decides how the password of a database is rotated while its clients run.
//
// # Purpose
//
// Users change the password in the credentials Secret. Clients do not read that Secret but the
// login Secret, which follows it in steps:
//
//  1. The login Secret notes that a change begins.
//  2. The new password is set in the database, beside the old one: with PostgreSQL for the
//     other one of two roles, with MySQL by RETAIN CURRENT PASSWORD.
//  3. The login Secret gets the new login, and clients are replaced one after the other.
//  4. When the last client of before has ended, the old password is revoked.
//
// Each step can be repeated, and the next one follows from the two Secrets, the Deployment and the
// pods of the clients: a process that ends anywhere is continued by the next one. The note of step 1
// says that the database may have a password that no Secret has: if the wanted one changes again,
// it is replaced or revoked.
//
// A login Secret that was lost, and data without one, such as data of a backup, get the password of the
// credentials Secret. A login Secret without data is left over from a database that was deleted.
//
// # Non-goals
//
// The user and the name of the database cannot change, because the data belongs to them: that is
// an error, and the clients keep what works. The package uses no client, clock or randomness.
//
// # Trade-offs
//
// With PostgreSQL the owner and the second role have the same, current password when a rotation
// has ended, so that a client of the credentials Secret can log in with it at any other time.
// Clients that hold a connection keep it when the old password is revoked. One rotation ends before
// the next begins, unless its clients do not start: the password may be the reason.
package passwordrotation
