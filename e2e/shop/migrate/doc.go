// Package migrate brings a schema to a version, from any number of processes at
// once and however often.
//
// # Purpose
//
// Run makes the missing migrations under a lock, each in a transaction with its note in
// schema_migrations; Await does so as soon as the database lets it; Pending counts what is
// missing.
//
// # Non-goals
//
// No way back. A release works with the schema of later ones, so going back to an older
// image needs none.
//
// # Trade-offs
//
// MySQL commits every change of a schema by itself, so steps that are not harmless to repeat
// bring a query that reports whether they were done. A change waits five seconds for its
// table and then tries again later: everybody else would wait behind it.
package migrate
