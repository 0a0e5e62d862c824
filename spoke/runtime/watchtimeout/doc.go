// Package watchtimeout ends watches that have become silent.
//
// # Purpose
//
// An API server sends a bookmark about once a minute to a watch that asks for bookmarks. A
// stream without any data for longer than that has lost its server, a proxy or a watch
// cache on the way, while the connection itself still answers pings. Wrap ends such a
// stream with a timeout, and client-go's reflector then watches again from the last
// version that it has seen, which costs one request and no list.
//
// # Non-goals
//
// The package does not watch again, and does not detect dead connections: pings do. It
// leaves alone all watches that do not ask for bookmarks, since these may be silent for
// ever, and streams of logs.
//
// # Trade-offs
//
// An API server that sends no bookmarks costs one request per watch and Silence. Each
// stream has a limit of its own, up to 15 % longer, so that watches that became silent
// together do not come back together.
package watchtimeout
