// Package crdschema validates statuses as the API server does, without one.
//
// # Purpose
//
// A Schema is that of the status of a kind. Validate returns what the API server would refuse of a status, so
// that tests can try thousands in a second.
//
// # Non-goals
//
// Rules in CEL are not evaluated: they are about specs, and e2e/api tries them on an API server.
//
// # Trade-offs
//
// It reads the definitions in config/crd, and the caller says where that folder is.
package crdschema
