// Package csi simulates the storage driver of a cloud in a cluster of a fleet.
//
// # Purpose
//
//   - EBS, PD and AzureDisk are the drivers of the three clouds: a claim becomes a volume
//     in the provider's fake, and a PersistentVolume with the handle, the node affinity
//     and the reclaim policy that the real driver writes.
//   - SimulatedDriver makes volumes as soon as the volume controller asks for them, grows them,
//     deletes those that are released and not to be kept, and attaches them to nodes.
//   - Install leaves in the cluster what the installation of the driver does: its CSIDriver,
//     its label on each node, and CSINodes.
//
// The cluster must be Driverless, so that no other provisioner provides volumes:
//
//	driver := csi.EBS(fakeCloud, server, "123456789012")
//	standIn, err := csi.New(ctx, member.AdminConfig(), driver)
//	go standIn.Run(ctx)
//
// # Non-goals
//
// No data: a volume is a record in the fake. No VolumeSnapshots: package driver serves the same
// drivers to the real controllers. No clones, and no nodes that start later than the driver.
//
// # Trade-offs
//
//   - Which volumes were made is identified by the name of the PersistentVolume alone,
//     and the volume is created before it: a driver that is killed in between leaves one
//     behind, which the real drivers do not.
//   - Binding, the choice of a node and protection are left to the real controllers.
package csi
