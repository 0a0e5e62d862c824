// Package local is a cloud in a directory: volumes and snapshots are folders, and a
// snapshot is a copy.
//
// # What
//
// Below the root of an account, which is Config.Endpoint as an absolute path:
//
//	<zone>/volumes/<name>        a volume; this path is its handle
//	<zone>/volumes/.<name>.json  its size, UID and tags, if it has any
//	snapshots/<name>/data        what was copied
//	snapshots/<name>/meta.json   what is known of it
//
// A snapshot is copied into a folder whose name begins with .tmp-, described there, and
// renamed, so that it is there whole or not at all and the first of two that make the
// same one wins. What a crash leaves is never read, and removed a day later.
//
// Files, folders, links, their modes and times are copied; owners too where the process
// is root. Sockets, pipes and devices are left out.
//
// # Not
//
// A copy of a directory that is written to is not of one point in time: it is for
// databases that are stopped, for demonstrations and for tests. Nothing is shared
// between copies, and nothing is encrypted. There is no identity but the process's.
//
// # Trade-offs
//
//   - EnsureSnapshot copies before it returns, which the other providers never do: the
//     one who asks waits for the copy, and its context bounds it. In return there is no
//     process that must live for a copy to go on.
//   - All paths are opened below the root by os.Root, so that neither a handle nor a link
//     in a volume leads out of it.
//   - The UID of a volume is the number of its folder beside what Provision has noted.
//     A folder that nobody noted and that was deleted and made again may have the number
//     of the one before.
package local
