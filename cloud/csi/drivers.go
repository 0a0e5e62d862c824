package csi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// The drivers whose volumes are known here, as CSIDriver objects and
// PersistentVolumes name them.
const (
	DriverEBS = "ebs.csi.aws.com"
	// DriverEBSAuto is the driver of EKS Auto Mode. It takes no volumes of DriverEBS.
	DriverEBSAuto   = "ebs.csi.eks.amazonaws.com"
	DriverPD        = "pd.csi.storage.gke.io"
	DriverAzureDisk = "disk.csi.azure.com"
)

// EKS Auto Mode labels its nodes so; its driver runs on no others.
const (
	autoModeLabel = "eks.amazonaws.com/compute-type"
	autoModeValue = "auto"
)

// ErrDriverMissing means that a cluster has no driver for the disks of its provider.
var ErrDriverMissing = errors.New("the CSI driver is missing")

// Cluster holds the properties of a cluster that determine its storage.
type Cluster struct {
	Provider v1.Provider
	// Region is the provider's name of the region; empty is not checked against.
	Region string
	// Drivers are the names of its CSIDriver objects, in any order, others included.
	Drivers []string
}

// Driver returns the driver that makes the cluster's volumes; empty on clusters of the provider other. The
// error wraps ErrDriverMissing when the cluster lacks the driver of its provider.
func (c Cluster) Driver() (string, error) {
	if c.Provider == v1.ProviderOther {
		return "", nil
	}
	wanted := driversOf(c.Provider)
	if len(wanted) == 0 {
		return "", fmt.Errorf("the provider %q has no drivers: it must be aws, gcp, azure or other", c.Provider)
	}
	for _, driver := range wanted {
		if slices.Contains(c.Drivers, driver) {
			return driver, nil
		}
	}
	return "", fmt.Errorf("%w: install %s in the cluster", ErrDriverMissing, strings.Join(wanted, " or "))
}

// driversOf returns a provider's drivers, the preferred one first.
func driversOf(p v1.Provider) []string {
	switch p {
	case v1.ProviderAWS:
		return []string{DriverEBS, DriverEBSAuto}
	case v1.ProviderGCP:
		return []string{DriverPD}
	case v1.ProviderAzure:
		return []string{DriverAzureDisk}
	default:
		return nil
	}
}

// DriverOfClass returns the driver of a provider that makes the volumes of a StorageClass with a provisioner, which may be the
// in-tree plugin before it, as Kubernetes has it; empty if none of the provider does.
func DriverOfClass(p v1.Provider, provisioner string) string {
	if driver, err := csitranslation.New().GetCSINameFromInTreeName(provisioner); err == nil {
		provisioner = driver
	}
	if !slices.Contains(driversOf(p), provisioner) {
		return ""
	}
	return provisioner
}

// ProviderOf returns the provider that a driver belongs to; false for drivers that are
// not known here. The empty driver is the provider other's.
func ProviderOf(driver string) (v1.Provider, bool) {
	switch driver {
	case DriverEBS, DriverEBSAuto:
		return v1.ProviderAWS, true
	case DriverPD:
		return v1.ProviderGCP, true
	case DriverAzureDisk:
		return v1.ProviderAzure, true
	case "":
		return v1.ProviderOther, true
	default:
		return "", false
	}
}

// TopologyKey returns the label of nodes with a driver's zone; for the empty driver, the
// label with the name of the node.
func TopologyKey(driver string) string {
	switch driver {
	case DriverEBS:
		return "topology.ebs.csi.aws.com/zone"
	case DriverPD:
		return "topology.gke.io/zone"
	case DriverAzureDisk:
		return "topology.disk.csi.azure.com/zone"
	case "":
		return corev1.LabelHostname
	default:
		return corev1.LabelTopologyZone
	}
}
