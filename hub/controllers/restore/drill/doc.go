// Package drill starts a database on a restored volume, beside the real one and out of
// everybody's way, and takes it away again.
//
// # What
//
//   - Start renders a database as the application's is, of the version of the backup,
//     and applies it in the namespace shopfleet-verify of the member; it tells whether the
//     engine has recovered and takes connections.
//   - Remove deletes all of it, the claim too, whose volume goes with it.
//
// # Not
//
// No volume is made here, and nothing of an application is read but its credentials: the
// data belongs to the users that are in it.
//
// # Trade-offs
//
//   - The namespace stays, empty: the hub may delete none.
//   - What is checked is that the engine starts, recovers by its log and serves. A page
//     that is damaged and not read is not found.
package drill
