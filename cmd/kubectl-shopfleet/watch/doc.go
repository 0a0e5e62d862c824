// Package watch keeps a picture of some objects up to date and hands over each
// new one.
//
// What: list, then watch from there, then list again when the watch ends for any
// reason, until the caller has seen enough.
//
// Not: no cache to read from, no indexes, no resync: for that there are informers.
//
// Trade-offs: the first list must succeed, so that a mistake in the address shows
// at once. Later trouble is reported and overcome, since a person who watches a
// failover wants to keep watching.
package watch
