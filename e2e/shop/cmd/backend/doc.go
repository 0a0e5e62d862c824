// Command backend serves the API of the shop.
//
// # Purpose
//
// It puts the packages together by the environment that package shop describes, and ends
// with SIGTERM; flags are for tests.
//
// # Non-goals
//
// It serves no pages.
//
// # Trade-offs
//
// It waits for its database before it opens its port, so that an open port means ready.
package main
