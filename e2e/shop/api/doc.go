// Package api serves the shop's products and orders as JSON.
//
// What: reading and checking requests, calling a Store, and answers with a code,
// a reason for people and the id under which the request is in the logs.
//
// Not: no tables and no pages.
//
// Trade-offs: unknown fields are ignored, since a newer frontend may talk to an
// older backend in the middle of an update. Errors of the database are told in
// general only; what happened is in the log.
package api
