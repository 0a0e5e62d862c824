// Package database connects to PostgreSQL and MySQL and knows where they differ.
//
// # Purpose
//
// A Config from the environment, a pool, placeholders, a lock on the whole database, which
// errors pass by themselves, and trying again while they do.
//
// # Non-goals
//
// No tables; those are of packages migrate and store. No TLS is demanded: it is used where
// the server offers it, and its certificate is not checked, since the environment names no
// authority.
//
// # Trade-offs
//
// Statements are written once for both engines, with ? as placeholder, instead of a query
// builder. Connections live a minute, which bounds how long a pool asks a server that is no
// longer the primary.
package database
