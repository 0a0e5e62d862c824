// Command frontend serves the pages of the shop.
//
// # Purpose
//
// It puts the packages together by the environment that package shop describes, and ends
// with SIGTERM; flags are for tests.
//
// # Non-goals
//
// It keeps nothing.
//
// # Trade-offs
//
// Its port is open without a backend, so that customers see a page and not an error of the
// network.
package main
