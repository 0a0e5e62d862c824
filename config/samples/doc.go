// Package samples has a sample of each kind that users create, and embeds those that programs use.
//
// # Purpose
//
// The demo and the tests use the same YAML files that users read. config/README.md lists them.
//
// # Non-goals
//
// The package decodes nothing and sets no defaults.
//
// # Trade-offs
//
// The files are embedded, so that a binary works without its source.
package samples
