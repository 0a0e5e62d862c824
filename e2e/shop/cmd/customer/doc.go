// Command customer orders at a shop's pages, again and again, as customers do.
//
// What: it puts package customer together by flags, and ends with SIGTERM or after
// a number of orders. Its output is one JSON line for each order and a summary.
//
// Not: it does not decide how many failures are too many.
//
// Trade-offs: it exits with 0 also after failures, since its output tells them.
package main
