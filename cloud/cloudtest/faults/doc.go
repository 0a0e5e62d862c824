// Package faults makes requests to a cloud fail.
//
// # Purpose
//
// A Script selects calls of an operation and the kind of their failure. Transport applies it to HTTP
// on the client's side, so that a response may be lost after the request took effect.
//
// # Non-goals
//
// Failures inside of the cloud, such as a snapshot that fails after it was accepted, are simulated by
// fake.Cloud.
//
// # Trade-offs
//
// A Script counts requests, not calls of the adapter: where an adapter sends several requests for an
// operation, a case that means one of them has to know how many come before it.
package faults
