// Package volumes gives kind clusters volumes of a fake cloud that have data and are mounted into pods.
//
// # Purpose
//
//   - Cloud is Amazon's EC2 in memory. The data of each volume and snapshot is a folder that all nodes share.
//   - Cloud.Start lets the driver of EBS work in a cluster: a kubelet has volumes mounted by it. The rest of the driver, and the
//     controllers that call it, are those of package driver of e2e/fleet/csi.
//
// # Non-goals
//
// No block devices: a volume has the file system and the space of this machine.
//
// # Trade-offs
//
// A snapshot is a copy that is made while the node is paused, so that it is of one moment, as in a real cloud. The node's API
// server does not answer meanwhile. The kubelet calls this process through a socket in a folder that the node mounts: the
// container engine must share this machine's kernel.
package volumes
