// Package overrides computes the spec that an application has in one cluster.
//
// # Purpose
//
// Effective applies the overrides of a spec that select a member, in order, and returns the spec of
// the copy there. Numbers and texts replace those of the spec, maps are merged by key, environment
// variables and image pull secrets by name, and JSON patches change the rest.
//
// # Non-goals
//
// The package does not validate the result: the API server of the member does, as it validates
// each copy. It does not decide on what depends on the facts about a member, such as storage classes:
// package copies does that with the effective spec.
//
// # Trade-offs
//
//   - An error concerns one cluster. The others get their copies, and the copy in that cluster stays
//     as it is: a spec without one of its overrides would be neither the user's nor the former one.
//   - What the hub decides once for all clusters cannot differ between them: whether the application
//     is paused or has a database, and the database's engine, version and backup policy, by which
//     backups are made and verified. This is checked after the patches, whatever their paths are. The
//     image of a database may differ: revisions.Database returns the one of each member, by which upgrades wait.
//   - A patch is applied by a library, one operation at a time, so that an error names it. A copy
//     operation can double the document, which is therefore bounded (maxBytes).
//   - The result is decoded strictly: a misspelt field would otherwise have no effect, and no error.
//   - Selectors mean what they mean in a placement, as package placement evaluates them.
package overrides
