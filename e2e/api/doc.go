// Package api holds the contract of the API as tests: what a real API server
// makes of the definitions in config/crd/bases.
//
// What: the samples are accepted byte for byte; each bound, enum, pattern and
// rule of the schemas has an object that it accepts and one that it refuses, with
// a message that names the field and says what to do; defaults, /status, /scale,
// columns and short names are as documented. Tables say what is expected, and a
// test compares them with the definitions, so that a bound without a row fails.
//
// Not: nothing of ours runs here, neither hub nor spoke.
//
// Trade-offs: one API server serves all tests of the package, as subtests of
// TestAPI. Cases are dry runs, so they leave nothing behind and need no order.
package api
