// Package driver serves the volumes and snapshots of a fake cloud as a CSI driver.
//
// # Purpose
//
// Listen serves CSI over a unix socket, as the drivers of the three clouds do: with LIST_SNAPSHOTS, so that a handle that does
// not exist is never ready, and with zones. A Cloud says what the driver's identity may see and delete, and where volumes can
// be: EBS, PD and AzureDisk refuse what the real drivers or their permissions refuse.
//
//	listening, err := driver.Listen(ctx, driver.Options{Driver: disks, Cloud: driver.EBS{…}, Zones: zones})
//
// # Non-goals
//
// No data: the Node service, which no kubelet calls here, publishes an empty folder, because csi-test requires it. No
// attaching, growing and cloning of volumes; package csi simulates the first two.
//
// # Trade-offs
//
// What Amazon's, Google's and Azure's drivers do is taken from their sources and documentation; no real account has shown it.
package driver
