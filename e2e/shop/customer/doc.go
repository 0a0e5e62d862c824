// Package customer orders at a shop's pages.
//
// # Purpose
//
// Run runs a number of customers, who open the order form, send it, and read the
// confirmation, each with persistent connections as in browsers. No request is retried: a
// failed request is a failure, and is printed with its time.
//
// # Non-goals
//
// No measurement of speed.
//
// # Trade-offs
//
// A customer that is stopped finishes the order that it is placing, so that each order has
// an outcome.
package customer
