// Package crashpoints kills the hub at each of its writes and checks that nothing is lost.
//
// # Purpose
//
// A workload is a change that a user asks for: an application is created, edited, scaled, moved or
// deleted, or a member joins or leaves. A first execution without a crash is the reference: it
// has the writes of the hub, the objects at the end, and the objects that were created and
// deleted. Then the workload is executed once per point. A point is a write, and a moment before
// it is sent, after it is committed but before the hub has the response, or after that.
// The hub is killed there and another process takes over. At the end the objects must be those of
// the reference, none created more often and none deleted in addition, and nothing more
// may be written.
//
// The hub is composed as in cmd/hub and runs in the test's process. A transport around those of
// all its clients holds every request that comes after the kill, also those for its
// Lease, which therefore expires as that of a killed process does.
//
// # Non-goals
//
// Backups and restores: the tests of their controllers end at each of their requests, to clouds
// as well. Faults of the network and of API servers, where the hub lives on.
//
// # Trade-offs
//
//   - make test runs a sample. It has points of every workload, and another seed each day; the seed
//     and the command that repeats a point are printed. make crashpoints runs all points.
//   - Points run one after the other, because a hub that is killed for one workload is
//     killed for all. The applications of several points are created at once.
//   - A kill within the process does not end what the test's process shares, such as
//     connections. A request that another goroutine has sent at that moment may still be
//     committed, as after a real kill.
//   - A write that depends on timing may be missing in an execution. The hub is then killed
//     after the workload, and the table counts the point as not reached.
package crashpoints
