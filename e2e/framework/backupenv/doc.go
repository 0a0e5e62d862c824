// Package backupenv provides the environment that tests of the backup and restore
// controllers share.
//
// # Purpose
//
// Env is a real API server that is both the hub and its member, and on demand
// another member, with a cloud in memory and a fake clock. Process is one run of the hub on
// it, which can be ended at any request that changes something, before the request arrives
// or before its answer does; the next Process continues with what was stored.
// Env.TestCrashes does that at each request.
//
// # Non-goals
//
// No controllers. A test makes the reconcilers that it is about, and starts them
// with a manager or reconciles step by step with Process.Run.
//
// # Trade-offs
//
// Nothing runs in a member, so that a test does not wait for it.
// Env.RunMember does once what its controllers, kubelets and storage driver would do about
// claims, volumes, StatefulSets and the database's pod. How Jobs end, the test decides.
package backupenv
