// Package crds installs, updates and compares CustomResourceDefinitions in a cluster.
//
// # Purpose
//
//   - Definitions.Install creates and updates definitions, and reports those that are being deleted.
//   - Definitions.Check and Verify write nothing. Verify compares the definitions that an agent owns.
//   - Definitions.Unserved names the fields that an API server does not serve, by its OpenAPI document. The
//     hub waits for its own definitions by that.
//
// # Non-goals
//
// The package has no schedule and sets no conditions: the accessor of a member decides when to compare
// and what follows. The package deletes no definition.
//
// # Trade-offs
//
//   - A definition is compared by the hash that was written with it, so that a restart
//     writes nothing. A manual edit therefore stays until the next version.
//   - A definition that is being deleted is left alone: the API server rejects new
//     objects of it, and the deletion cannot be cancelled.
package crds
