// Package cloud simulates Amazon's API and the storage driver of EBS for the demo.
//
// # Purpose
//
// Run serves the fake of EC2 on an address of this machine, for the access key that Account
// returns, and the driver of EBS in each member of the fleet that has no driver, with the real
// snapshot-controller, csi-snapshotter and csi-provisioner. In the other members it registers the driver of their
// provider. A snapshot is taken at once and ready after three seconds.
//
// # Non-goals
//
// Volumes and snapshots hold no data; the nodes are simulated, too. Members that are added
// later need a restart. The APIs of Google and Azure are not served: the volumes of their members are KWOK's.
//
// # Trade-offs
//
// The state is in memory, and saved to a file soon after each change. A process that is
// killed loses the last quarter of a second: a volume that a claim received then is lost,
// unlike in a cloud.
package cloud
