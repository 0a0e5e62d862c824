// Package storetest has the contract of stores, and a store in memory for tests
// of what stands on one.
//
// What: Contract runs the same tests against every store; Memory passes them and
// can be told to fail.
//
// Not: nothing here is for production.
//
// Trade-offs: Memory has products of its own, so the contract asks for them
// instead of naming them.
package storetest
