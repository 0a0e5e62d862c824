// Package driver serves the volumes and snapshots of a fake cloud as a CSI driver, and runs the controllers of Kubernetes
// CSI that call it beside a cluster.
//
// # Purpose
//
//   - Listen serves CSI over a unix socket, as the drivers of the three clouds do: with LIST_SNAPSHOTS, so that a handle that
//     does not exist is never ready, and with zones. A Cloud says what the driver's identity may see and delete, and where
//     volumes can be: EBS, PD and AzureDisk refuse what the real drivers or their permissions refuse.
//
//   - StartControllers runs snapshot-controller, csi-snapshotter and csi-provisioner, and installs the definitions of
//     snapshots. They are as real as the control plane: a VolumeSnapshotContent with a handle of the cloud becomes ready,
//     and a claim with that data source gets a volume.
//
//   - Play does both, and has volumes attached and grown.
//
// In a fleet:
//
//	playing, err := driver.Play(ctx, driver.Of(member), driver.Options{Driver: disks, Cloud: driver.EBS{…}, Zones: zones}, progress)
//	err = playing.Run(ctx)
//
// # Non-goals
//
// No data: the Node service, which no kubelet calls here, publishes an empty folder, because csi-test requires it. No
// cloning of volumes; package csi simulates attaching and growing, of which the controllers here know nothing.
//
// # Trade-offs
//
// The controllers have an administrator's permissions, not those of the real installation. What Amazon's, Google's and
// Azure's drivers do is taken from their sources and documentation; no real account has shown it.
package driver
