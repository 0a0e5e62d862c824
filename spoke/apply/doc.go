// Package apply writes objects to one cluster by server-side apply, and only if
// something changed.
//
// # Purpose
//
//   - Hash and Stamp: identify an intent by a hash in an annotation of the object, so
//     that it survives a restart.
//   - Contains: reports whether a live object still has everything that an intent sets.
//   - Applier: creates or updates an object with one apply, deletes with preconditions,
//     and expands claims. An existing object that the application does not own is a
//     *ConflictError.
//   - DryRunClient, and Options.DryRun: send the same writes as dry runs, and return what the
//     API server would change.
//   - Fingerprints, AppliedHash and Recall: let a cache drop the content of applied objects,
//     and let a process start without reading it.
//
// # Non-goals
//
// The package does not decide what to write and in which order; package component does. It does not
// retry, and writes no status and no events.
//
// # Trade-offs
//
//   - Caches hold only objects with the managed-by label. If an object is missing in the cache, the apply
//     fails if it exists without the label; the object is then read.
//   - An object that was just created is expected in the cache for a time (Request.ExpectFor), and not read. If it is
//     deleted meanwhile, it is created again after that time.
//   - The API server may store something else than the intent, for example when an admission webhook
//     rewrites an image. The applier remembers the result of its own write, and does not
//     repeat it. After a restart it writes such an object once more, unless the object has a fingerprint and
//     the applied hash covers it. Rewrites returns the rewritten fields; after a creation only those of
//     kinds that policies usually change, because the response is not read for others.
//   - A fingerprint is a hash of the field paths that, according to the API server, this applier owns.
//     A client that changes or removes a field takes the ownership, so drift shows without the
//     content. A client that changes a field and changes it back causes one write, which
//     takes the field back.
//   - Field ownership does not cover the order of lists. The fingerprint includes the order of
//     containers and of their variables, and for a CronJob, of which only metadata is cached, the
//     generation. An apply restores the order.
//   - A write names the UID and the resource version that it was decided on, so that a
//     process that was suspended does not overwrite the writes of its successor. The price is a conflict when a
//     cache is behind: the object is read, and if only its status changed, the write is sent once more.
//   - Another client may change a field again after each repair. After ten repairs of a field for the same intent,
//     the field is repaired once in five minutes, and Apply returns a *ContendedError with the field manager that
//     wrote last. The counts are in memory.
//   - Lists of built-in kinds are compared by merge keys, others by position.
package apply
