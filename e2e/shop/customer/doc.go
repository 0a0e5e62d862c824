// Package customer orders at a shop's pages.
//
// What: Run has a number of customers open the order form, send it, and read the
// confirmation, each with connections that they keep, as browsers do. Nothing is
// tried twice: a request that fails is a failure, and is told with its time.
//
// Not: no measurement of speed.
//
// Trade-offs: a customer that is told to end finishes the order that it is placing,
// so that each order that was begun has an outcome.
package customer
