// Package quiesce quiesces databases in members before a volume snapshot.
//
// # Purpose
//
// Quiesce runs a command in the container of the primary, through the exec API of the
// member, and returns when the command has confirmed:
//
//   - PostgreSQL writes down what it has in memory: a CHECKPOINT, as the administrator
//     on the pod's own socket. It holds nothing: a copy of its one volume recovers from
//     any moment, and does so quickly from one after a checkpoint.
//   - MySQL blocks clients that write to the application's tables, by LOCK TABLES
//     ... READ as the application's user, until the snapshot is taken. A transaction that
//     had begun has ended by then, and what it wrote is on the disk: InnoDB and the binary
//     log are written there at each commit.
//
// The commands are those of package spoke/render/database, which knows the containers.
// They need nothing that pods made by earlier releases lack.
//
// A hold ends when it is released, when the stream to the pod ends, or by itself in the
// pod a minute after it began: no death of the hub or of a connection makes it longer.
//
// # Non-goals
//
// The package does not run FLUSH TABLES WITH READ LOCK, which InnoDB does not need: it would
// block the whole server for the longest query, and requires a privilege that the application's user
// lacks. Tables of engines that do not survive a crash, as MyISAM's, do not become safe.
// Definitions of tables that are new during a hold are not blocked either: those of MySQL 8
// survive a crash.
//
// Quiesce does not wait for the pod: one that is missing or not ready is an error.
//
// # Trade-offs
//
//   - Orders wait while the snapshot of MySQL's volume is taken: for as long as the
//     provider needs, and for a minute at most. A transaction that stays open gets five
//     seconds: then the database is not quiesced, which is an error, and orders go on.
//   - What a pod prints is read up to a few kilobytes, and what it complains of is part
//     of the error. The commands print no passwords.
package quiesce
