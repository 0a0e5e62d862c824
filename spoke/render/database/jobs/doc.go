// Package jobs renders the Jobs that move dumps to and from a bucket, and load them.
//
// # What
//
// Send: a Job that sends a dump from the claim that it was made on. Load: a Job that loads
// one into a database, from that claim or from one that it is fetched to first. Claim: the
// claim for that. All are restricted pods that run once, as the user that dumps belong to;
// who makes them counts the attempts, under other names.
//
// Load looks at the file before it touches the database, and refuses a database that holds
// anything of the application's, unless it may replace it. What administrators made counts
// as nothing: the members of extensions. It is done when the Job is complete.
//
// PostgreSQL is loaded in one transaction: what fails leaves what was there. What is
// replaced is dropped in it too: everything that the application's user owns, by DROP OWNED,
// and so also what came after the dump. MySQL has no such transactions. There a table,
// shopfleet_loading, tells that what is there is half of a certain dump: a load of the same
// dump clears it and begins anew, another is refused.
//
// # Not
//
// No orders are made here, and no Job is written. Nobody stops the application while a dump
// is loaded: package render does, for a copy with the annotation.
//
// # Trade-offs
//
//   - Owners and privileges of the dump are left out: all is the application's. DROP OWNED
//     also takes privileges from the application's user that somebody granted to it by hand,
//     on an object of the database, and extensions that it made itself, which the dump makes
//     again. Extensions and tables of others stay; one that is in the way fails the load.
//   - To replace, psql reads what pg_restore writes, as only so both share a transaction. A
//     load into an empty database needs no client between them.
//   - MySQL's views, triggers, routines and events keep their definer: a dump with some
//     loads under the user name that it was made under.
//   - A pod that is lost between the end of a load and its own leaves a database that is
//     loaded and a Job that failed: the next attempt finds it not empty.
//   - The script is in the command: it is no secret, and a Job brings no ConfigMap along.
package jobs
