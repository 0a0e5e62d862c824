// Package apply writes objects to one cluster by server-side apply, and only if
// something changed.
//
// # Purpose
//
//   - Hash and Stamp: identify an intent by a hash in an annotation of the object, so
//     that nothing needs to be remembered across restarts.
//   - Contains: reports whether a live object still has everything that an intent sets.
//   - Applier: creates or updates an object with one apply, deletes with preconditions,
//     and expands claims. An existing object that the application does not own is a
//     *ConflictError.
//   - DryRunClient, and Options.DryRun: the same writes as dry runs, with what each would change
//     according to the API server.
//   - Fingerprints, AppliedHash and Recall: a cache need not keep the content of what is
//     applied, and a process that starts need not read it.
//
// # Non-goals
//
// Package component decides what to write and in which order. This package does not
// retry, and writes no status and no events.
//
// # Trade-offs
//
//   - An object that is missing in the cache is created by an apply that fails if it exists: the
//     caches only hold objects with the managed-by label, and so would miss another object of
//     the same name, which is read then.
//   - Request.ExpectFor: what was just created is not read, as the cache will have it in a moment. The
//     price: if it is deleted before, it is created again only when that time is over.
//   - The API server may permanently store something other than the intent, for example
//     when an admission webhook rewrites an image. The applier remembers the result of
//     its own write, so that it does not write repeatedly; after a restart it writes such
//     an object once more, unless it has a fingerprint and the applied hash tells of it. Rewrites
//     tells which fields it were. Of a created object that is known only of the kinds that
//     policies usually change, as the answer about others is not read.
//   - A fingerprint is a hash of the field paths that the API server says this applier owns.
//     A client that changes or removes a field takes it away, so that drift shows without the
//     content. The price: who changes a field and changes it back causes one write, by which
//     the field is owned again, and what differs is read before it is compared.
//   - Ownership says nothing about the order of lists. The fingerprint includes the order of
//     containers and of their variables. For a CronJob, whose metadata alone is cached, it
//     includes the generation. An apply restores the order.
//   - A write names the UID and the resource version that it was decided on, although an
//     apply does not need them: a process that was stopped must not overwrite what its
//     successor wrote. The price is a conflict when a cache is behind: the object is read
//     once, and if only its status changed, the write is sent once more.
//   - Another client that changes a field again after each repair would cause writes
//     without end. After ten repairs of a field for the same intent, the field is repaired
//     once in five minutes, and Apply returns a *ContendedError with the field manager that
//     wrote last. The counts are in memory: a restart begins anew.
//   - Lists of built-in kinds are compared by their merge keys; all others by position.
package apply
