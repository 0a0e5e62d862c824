// Package cloud holds the tests of storage, backups and restores on fleets of real
// control planes in front of fakes of the clouds.
//
// # Purpose
//
// The hub runs in the test's process as in cmd/hub, with the adapters of the three
// providers and the permissions that config/rbac ships, and nothing more. Its accounts
// lead to the wire fakes of EC2, Compute Engine and Azure Resource Manager on this
// machine, and of S3, Cloud Storage and Blob Storage; the volumes of the members are
// made by CSI drivers of e2e/fleet/csi/driver with the real controllers, and a kubelet here plays the pods of
// Jobs: dumps are files, which the spoke's own code moves. The hub's waits are a
// tenth of the real ones, which tests in their packages pin.
//
// # Non-goals
//
// Every answer that a provider may give is cloud/cloudtest's; what is decided from it is
// tested where it is decided.
//
// # Trade-offs
//
//   - The subtests share a fleet and what earlier ones made, because both are expensive. One
//     that runs alone runs those first that it needs.
//   - Faults are made on the server's side of the wire: the hub has no way to be given
//     another network, and gets none for a test.
package cloud
