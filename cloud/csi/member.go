package csi

import (
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// CapabilitySnapshots is, in a MemberCluster's status.capabilities, that the cluster has
// VolumeSnapshots.
const CapabilitySnapshots = "snapshots"

// CapabilityDriver goes before the name of a CSI driver in a MemberCluster's
// status.capabilities.
const CapabilityDriver = "csi:"

// InstallSnapshots names what to install in a member that HasSnapshots does not report.
const InstallSnapshots = "install the definitions of VolumeSnapshots, snapshot-controller, and the driver with its csi-snapshotter " +
	"(on EKS the add-on snapshot-controller)"

// HasSnapshots reports whether the driver of a member may make volumes from snapshots. A member that was not inspected
// yet may.
func HasSnapshots(m *v1.MemberCluster) bool {
	return m.Status.Provider == "" || slices.Contains(m.Status.Capabilities, CapabilitySnapshots)
}

// ClusterOf returns what of a member decides on its storage.
func ClusterOf(m *v1.MemberCluster) Cluster {
	c := Cluster{Provider: m.Status.Provider, Region: m.Status.Region}
	for _, capability := range m.Status.Capabilities {
		if driver, is := strings.CutPrefix(capability, CapabilityDriver); is {
			c.Drivers = append(c.Drivers, driver)
		}
	}
	return c
}

// BySnapshots reports whether the databases of a member are backed up by snapshots, and
// not by dumps.
func BySnapshots(method v1.BackupMethod, m *v1.MemberCluster) bool {
	switch method {
	case v1.BackupDump:
		return false
	case v1.BackupSnapshot:
		return true
	default:
		return m.Spec.CloudAccountRef != nil && CapabilitiesOf(m.Status.Provider).Snapshots
	}
}
