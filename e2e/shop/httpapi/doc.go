// Package httpapi serves the shop's products and orders as JSON.
//
// # Purpose
//
// Reading and checking requests, calling a Store, and answers with a code, a reason for
// people and the id under which the request is in the logs.
//
// # Non-goals
//
// No tables and no pages.
//
// # Trade-offs
//
// Unknown fields are ignored, since a newer frontend may talk to an older backend during an
// update. Responses describe database errors in general terms only; the details are in the
// log.
package httpapi
