package csi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// clusterNameTag is on the volumes of a driver whose role may attach only volumes with it.
const clusterNameTag = "ebs.csi.aws.com/cluster-name"

// RestoreFacts holds the known properties of a volume, and of the cluster that gets a volume from its
// snapshot. Unknown properties are empty, and never an obstacle.
type RestoreFacts struct {
	Provider v1.Provider
	Region   string
	// Driver is the cluster's, NodeZones are the zones in the labels of its nodes, and MayAttach
	// is true if a user says that its driver may attach volumes that the hub makes.
	Driver    string
	NodeZones []string
	MayAttach bool
	// Group is the resource group of the CloudAccount, where volumes are created.
	Group string
	// Class holds the parameters of the StorageClass of the claim.
	Class map[string]string
	// Zone is the requested zone.
	Zone string
	// Handle identifies the volume that was snapshotted, or that is replaced: one that the driver of
	// the cluster attaches. Volume describes it, as the provider does; nil if the provider was not asked.
	Handle string
	Volume *cloud.Volume
}

// Obstacle is a reason why a snapshot cannot be restored today, or not to a volume that the cluster can
// attach. The message says what to do. The zero Obstacle means that nothing prevents a restore.
type Obstacle struct{ Reason, Message string }

// Obstacle returns what is known to prevent a restore.
func (f RestoreFacts) Obstacle() Obstacle {
	why := ""
	switch f.Provider {
	case v1.ProviderAzure:
		why = f.azureDisk()
	case v1.ProviderGCP:
		why = f.googleDisk()
	default:
	}
	if why != "" {
		return Obstacle{v1.ReasonNotRestorable, why + ": set spec.database.backup.method to Dump, or use a StorageClass with zonal disks"}
	}
	if why := f.attaching(); why != "" && !f.MayAttach {
		return Obstacle{v1.ReasonNotAttachable, why + ", and set the annotation " + v1.AttachesVolumesAnnotation + ": \"true\" on the MemberCluster"}
	}
	return Obstacle{}
}

// azureDisk returns why no disk of Azure can be made that the cluster's nodes can attach.
func (f RestoreFacts) azureDisk() string {
	for name, sku := range f.Class {
		if name = strings.ToLower(name); (name == "skuname" || name == "storageaccounttype") && isZoneRedundant(sku) {
			return "zone-redundant disks (" + sku + ") cannot be made from snapshots yet"
		}
	}
	const none = "disks cannot be made from snapshots yet for nodes without an availability zone"
	switch {
	case f.Zone != "":
		if !f.isZone(f.Zone) && !slices.Contains([]string{"1", "2", "3"}, f.Zone) {
			return none + " (" + f.Zone + ")"
		}
	case f.Volume != nil && f.Volume.Ref.Zone == "" && isZoneRedundant(f.Volume.Type):
		return "zone-redundant disks (" + f.Volume.Type + ") cannot be made from snapshots yet"
	case f.Volume != nil && f.Volume.Ref.Zone == "":
		return none
	case f.Volume == nil && len(f.NodeZones) > 0 && !f.isZone(f.NodeZones[0]):
		return none // The first one is used.
	}
	return ""
}

// isZone reports whether a label of a node names a zone of Azure. Others name a fault domain.
func (f RestoreFacts) isZone(label string) bool {
	number, is := strings.CutPrefix(strings.ToLower(label), strings.ToLower(f.Region)+"-")
	return f.Region == "" || is && consistsOf(number, digits)
}

func isZoneRedundant(sku string) bool { return strings.HasSuffix(strings.ToUpper(sku), "_ZRS") }

// googleDisk returns why no disk of Google Cloud can be made like the volume.
func (f RestoreFacts) googleDisk() string {
	const regional = "regional disks cannot be made from snapshots yet"
	for _, name := range slices.Sorted(maps.Keys(f.Class)) {
		value := f.Class[name]
		switch key := strings.ToLower(name); {
		case strings.HasPrefix(key, "csi.storage.k8s.io/"), slices.Contains(googleParameters(), key):
		case key == "replication-type" && value == "none":
		case key == "replication-type":
			return regional
		default:
			return fmt.Sprintf("disks like those of a StorageClass with the parameter %s cannot be made from snapshots yet", key)
		}
	}
	if parts := strings.Split(f.Handle, "/"); f.Class == nil && len(parts) == 6 && parts[2] == "regions" {
		return regional
	}
	return ""
}

// googleParameters returns the parameters of a StorageClass that a disk can be made by.
func googleParameters() []string {
	return []string{"type", "disk-encryption-kms-key", "provisioned-iops-on-create", "provisioned-throughput-on-create"}
}

// attaching returns why the cluster may not attach a volume that the hub makes, as far as is known.
func (f RestoreFacts) attaching() string {
	switch {
	case f.Driver == DriverEBSAuto:
		return "EKS Auto Mode attaches only volumes with the tag eks:eks-cluster-name, which restored ones lack: " +
			"allow the cluster's role ec2:AttachVolume and ec2:DetachVolume for volumes with the tag ebs.csi.aws.com/cluster"
	case f.Provider == v1.ProviderAWS && f.Volume != nil && f.Volume.Tags[clusterNameTag] != "":
		return "the driver of the cluster may attach only volumes with the tag " + clusterNameTag + " if its role is scoped to the cluster, and restored ones lack it: " +
			"allow its role ec2:AttachVolume and ec2:DetachVolume for volumes with the tag ebs.csi.aws.com/cluster"
	}
	own := groupOf(f.Handle)
	if f.Provider != v1.ProviderAzure || own == "" || f.Group == "" || strings.EqualFold(own, f.Group) {
		return ""
	}
	return fmt.Sprintf("restored disks are in the resource group %s of the CloudAccount, and the cluster has its disks in %s: "+
		"allow the cluster's identity to attach and detach the disks of %s", f.Group, own, f.Group)
}

// groupOf returns the resource group in the ID of a disk of Azure, empty for other IDs.
func groupOf(handle string) string {
	parts := strings.Split(handle, "/")
	if len(parts) != 9 || !strings.EqualFold(parts[3], "resourceGroups") {
		return ""
	}
	return parts[4]
}
