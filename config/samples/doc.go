// Package samples embeds one complete object of each kind that users create.
//
// # Purpose
//
// The demo and the tests use the same YAML files that users read.
//
// # Non-goals
//
// The package decodes nothing and sets no defaults.
//
// # Trade-offs
//
// The files are embedded, so that a binary works without its source.
package samples
