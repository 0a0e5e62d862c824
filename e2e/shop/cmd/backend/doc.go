// Command backend serves the API of the shop.
//
// What: it puts the packages together by the environment that package shop
// describes, and ends with SIGTERM; flags are for tests.
//
// Not: it serves no pages.
//
// Trade-offs: it waits for its database before it opens its port, so that an open port means ready.
package main
