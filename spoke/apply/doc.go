// Package apply writes objects to one cluster by server-side apply, and only
// when there is something to write.
//
// # What
//
//   - Hash and Stamp: the identity of an intent, kept in an annotation of the
//     object, so that a restart needs no memory.
//   - Contains: whether a live object still has all that an intent says.
//   - Applier: create or update by one apply, delete with preconditions, grow a
//     claim. An object that exists and is not ours is a *ConflictError.
//
// # Not
//
// It decides neither what to write nor in which order (package component), does
// not retry, and writes no status and no event.
//
// # Trade-offs
//
//   - An object that is missing in the cache is read once from the API server
//     before it is created: the caches hold only what carries our label, so that
//     a stranger of the same name would not be seen there.
//   - What a server makes of an intent may differ from the intent for good, for
//     example when an admission webhook rewrites an image. The applier remembers
//     the result of its own write, so that it does not write again and again;
//     after a restart such an object is written once more.
//   - Lists are compared by their merge keys where Kubernetes defines them for
//     the built-in kinds, by position elsewhere.
package apply
