// Package csi has what of a cloud's storage driver the real controllers do not bring to a cluster of a fleet.
//
// # Purpose
//
//   - EBS, PD and AzureDisk are the drivers of the three clouds: they make volumes in the provider's fake, with the handle
//     that the real driver gives them. Package driver serves them to the real controllers.
//   - Install leaves in the cluster what the installation of a driver does: its CSIDriver, its label on each node, and
//     CSINodes.
//   - SimulatedDriver attaches volumes to nodes and grows them, in place of external-attacher and external-resizer.
//
// Use package driver, whose Play does all of it.
//
// # Non-goals
//
// No data: a volume is a record in the fake. No clones, and no nodes that start later than the driver.
//
// # Trade-offs
//
// external-attacher and external-resizer would be two more processes beside each control plane, and no test asks what they
// do on errors.
package csi
