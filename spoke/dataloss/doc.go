// Package dataloss decides whether the primary of a database may initialize an empty volume, and
// whether the data of a database is lost.
//
// # Purpose
//
// A database is created once. A mark outside of its volume (database.Mark) records that it was created.
// Next returns the mark to write, from the last mark and from observations of the volume.
// With a mark the primary does not initialize an empty volume: the data is lost until a Restore, or a user, ends that.
//
// # Non-goals
//
// The package does not know what is in a volume: the script that prepares the primary does, and its exit
// code is an observation. It uses no client, clock or randomness, and restores no data.
//
// # Trade-offs
//
// The mark says that there was a database, and not which one. A volume that was put back, by a Restore or
// by hand, is used whatever claim it has.
//
// A database without a mark that has a volume counts as created, also if its first start was interrupted
// before the mark was written: a user then has to consent to another start.
//
// A loss is remembered until the primary has found data. In between, a pod may say nothing, because it has
// just been created.
package dataloss
