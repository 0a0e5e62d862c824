// Package cloud simulates Amazon's API, and the storage drivers of three clouds, for the demo.
//
// # Purpose
//
// Run serves the fake of EC2 on an address of this machine, for the access key that Account
// returns, and simulates the driver of its provider in each member of the fleet that has no
// driver: that of EBS, Persistent Disk or Azure Disk. A snapshot is taken at once and ready
// after three seconds.
//
// # Non-goals
//
// Volumes and snapshots hold no data; the nodes are simulated, too. Members that are added
// later need a restart. The APIs of Google and Azure are not served.
//
// # Trade-offs
//
// The state is in memory, and saved to a file soon after each change. A process that is
// killed loses the last quarter of a second: a volume that a claim received then is lost,
// unlike in a cloud.
package cloud
