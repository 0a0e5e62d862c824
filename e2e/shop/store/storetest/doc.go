// Package storetest has the contract of stores, and a store in memory for tests.
//
// # Purpose
//
// Contract runs the same tests against every store; Memory passes them and can simulate
// failures.
//
// # Non-goals
//
// Nothing here is for production.
//
// # Trade-offs
//
// Memory has products of its own, so the contract asks for them instead of naming them.
package storetest
