// Command frontend serves the pages of the shop.
//
// What: it puts the packages together by the environment that package shop
// describes, and ends with SIGTERM; flags are for tests.
//
// Not: it keeps nothing.
//
// Trade-offs: its port is open without a backend, so that customers see a page and not an error of the network.
package main
