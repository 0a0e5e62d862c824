// Package crashpoints kills the hub at each of its writes and checks that nothing is lost.
//
// # Purpose
//
// A workload is a change that a user asks for: an application is created, edited, scaled, moved,
// deleted or rolled out, its database is backed up or restored, a member joins or leaves, or another
// process of the hub takes over. A first execution without a crash is the reference: it has the writes of the
// hub, the objects at the end, and the objects that were created and deleted. Then the workload
// is executed once per point. A point is a write to an API server or to a cloud, and a moment
// before it is sent, after it is committed but before the hub has the response, or after that.
// The hub is killed there and another process takes over. At the end the objects must be those of
// the reference, none created more often and none deleted in addition, and nothing more may be
// written. Snapshots and volumes in the cloud count as objects: EC2 makes a snapshot that is
// requested twice twice.
//
// The hub is composed as in cmd/hub and runs in the test's process. Package crash kills it. Volumes are made, also from
// snapshots, by the CSI driver of e2e/fleet/csi/driver, which runs on with its controllers.
//
// # Non-goals
//
// These writes are no points, because no later step depends on them: events, renewals of the Lease,
// requests for tokens, access reviews and dry runs. Registrations are written by users; the hub
// writes them only to renew a token, which tests of hub/members/connect and e2e/members cover.
// Dumps: the tests of the controllers of Backups and Restores end at each of their requests. The
// agent of a member reconciles copies with the code that the hub runs for members without
// one, whose writes are points; that its process is killed is a test of e2e/processes. Faults of
// the network and of API servers, where the hub lives on.
//
// # Trade-offs
//
//   - make test runs a sample. It has points of every workload, and another seed each day; the seed
//     and the command that repeats a point are printed. make crashpoints runs all points, on one
//     fleet for each group of workloads at the same time.
//   - The points of a fleet run one after the other, because a hub that is killed for one workload
//     is killed for all. The applications of several points are created at once.
//   - A hub that was killed while it requested a snapshot waits for 90 s until it requests it again,
//     and then for ten minutes until no duplicate can turn up. Its clock skips that time.
//   - A write that depends on timing may be missing in an execution. The hub is then killed
//     after the workload, and the table counts the point as not reached.
package crashpoints
