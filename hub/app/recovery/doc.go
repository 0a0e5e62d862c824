// Package recovery decides what a hub that was restored or rebuilt must not overwrite, and encodes the
// records of copies in members that no application owns.
//
// # Purpose
//
// Assess decides from Facts whether a hub may write or delete a copy. It protects a copy of a later generation, or of an
// application that the hub does not know, from being overwritten. It also prevents that a copy is created if the
// member has recorded the deletion or departure of the application, or if another member has a newer copy. An
// UnknownError says what was found. Its origin is kept in the status until the user accepts it. Package copies calls
// Assess before it makes an intent, and again about the object that an API server answers with.
//
// Inventory decides where an application whose status was lost may run, from what members answer, and what must be known
// before its placement is decided again.
//
// The hub adds Residue to the ConfigMap of a member, Name, before it releases an
// application whose copy in that member was not confirmed to be deleted. When the member
// returns, the hub deletes the copies that are named there, and then their entries. A user
// who wants an orphan to be deleted adds an entry for it. The hub lists orphans in another
// ConfigMap, OrphansName. Both are in the hub's namespace, one of each for every member.
//
// Each entry has its own key, its ID. AddPatch and RemovePatch are merge patches of that
// key alone: they are idempotent, and concurrent writers of different entries do not
// conflict.
//
// # Non-goals
//
// The package uses no client: the queues of members read the facts, and package store reads and writes the
// ConfigMaps.
//
// # Trade-offs
//
//   - A copy with the spec of the intent is adopted, whatever it was made from: nothing is lost.
//   - An approval of the user names what was found. It is not used up, and covers nothing later.
//   - A copy that stayed behind is identified by its namespace, its name and the UID of the
//     application that it was written for, which it has in an annotation. The copy's own UID
//     is unknown while its member cannot be reached. An application that is created anew
//     replaces the annotation when it adopts the copy, so the record no longer matches.
//   - A ConfigMap holds at most 1 MiB. Above MaxBytes no record is added, and the deletion
//     waits: at least 2,500 copies in one member.
package recovery
