// Package skew holds the tests of two releases in one fleet, as while an upgrade is under way: the programs of this
// tree and of the release before, as processes, on real API servers.
//
// # Purpose
//
//   - A hub of the release before works with an agent of this one, and the other way round: applications
//     are created, change and are deleted in members of both modes.
//   - The plugins of both releases say what is so with either hub, or what the other side lacks.
//   - An upgraded hub names the members that are to join again, and writes there what it may until they do.
//     An application with a field that a member's definition lacks runs in the others until then.
//
// # Non-goals
//
// No container runs: e2e/kind follows the manual's upgrade with databases and customers, and counts the
// pods that restart.
//
// # Trade-offs
//
// Until there is a release, the release before is a commit, whose programs are built once for each change of
// Go's build cache. The test takes some minutes with that, so make skew runs it, and make test does not.
package skew
