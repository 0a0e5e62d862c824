// Package verification starts a database beside the real one and out of everybody's way, on a
// restored volume or empty, and takes it away again.
//
// # What
//
//   - Start renders a database as the application's is, of the version of the backup,
//     and applies it in the namespace shopfleet-verify of the member; it reports whether the
//     engine has recovered and takes connections.
//   - On a restored volume it has the application's credentials. For a dump it is empty,
//     has credentials that are made for it, and is loaded by package
//     hub/controllers/restore/logical.
//   - Remove deletes all of it, the claim and its volume too.
//
// # Not
//
// No volume is made here, and nothing of an application is read but its credentials,
// where the data belongs to the users that are in it.
//
// # Trade-offs
//
//   - The namespace stays, empty: the hub may delete none.
//   - What is checked of a volume is that the engine starts, recovers by its log and serves.
//     A page that is damaged and not read is not found. A dump is read to its end, and its
//     checksum compared.
//   - A database for a dump gets a volume as large as the application's: how large it will
//     be, a dump does not tell.
package verification
