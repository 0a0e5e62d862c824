// Package web serves the shop's pages and passes orders on to the API.
//
// # Purpose
//
// Products, the order form, an order, the list of orders, and a page for when the backend is
// away, from which the same order can be sent again. Backend is the client of the API, with
// a deadline and one more try.
//
// # Non-goals
//
// No state; the key of an order is in its form.
//
// # Trade-offs
//
// Pages need no script and no other file, so that their policy can forbid everything else.
// Forms of other sites are refused by what browsers say about their origin, without tokens:
// a replica can take the form that another one made.
package web
