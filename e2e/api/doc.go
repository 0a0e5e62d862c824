// Package api tests the CustomResourceDefinitions in config/crd/bases on a real API server.
//
// # Purpose
//
// The samples are accepted unchanged. For each bound, enum, pattern and rule of the schemas
// there is an object that is accepted and one that is refused, with a message that names
// the field and says what to do. Defaults, /status, /scale, columns and short names are as
// documented. Tables have the expected bounds, and a test compares them with the
// definitions, so that a bound without a row fails.
//
// # Non-goals
//
// Neither hub nor spoke runs in these tests.
//
// # Trade-offs
//
// One API server serves all tests of the package, which are subtests of TestAPI. Cases are
// dry runs: they leave no objects and need no order.
package api
