// Package lock has Restores take turns at a database.
//
// # What
//
// Who works on a database says so on the application's copy: by RestoringAnnotation, for
// which the database is stopped, or by LoadingAnnotation, for which what uses it is. Take
// says it unless another Restore does, and Give takes it back.
//
// # Not
//
// Nobody is waited for here, and what the annotations do is the matter of who renders.
//
// # Trade-offs
//
//   - The annotations have a field manager of their own, so that the hub's member queues, which
//     apply all that they say of a copy, leave them alone; and a lock, so that of two
//     Restores at the same time one finds out.
package lock
