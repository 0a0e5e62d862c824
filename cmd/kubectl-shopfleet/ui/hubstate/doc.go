// Package hubstate holds what the page of kubectl shopfleet ui shows: the objects of the hub at one time, and what is not
// known of them.
//
// # Purpose
//
// A Snapshot is one value that all screens are computed from. An Observer lists and watches each kind with the user's
// credentials and replaces the Snapshot when objects change. It reads the Lease of the hub every ten seconds: without a hub
// that renews it, objects do not change and are outdated.
//
// # Non-goals
//
// The package sends no request to a member, and writes nothing.
//
// # Trade-offs
//
//   - One watch of each kind serves all tabs. Objects are kept without their managed fields, which no screen shows.
//   - A kind that the user may not list is a fact of the Snapshot, and so is one that cannot be read at the moment. The
//     other kinds are shown nevertheless, and each is tried again.
package hubstate
