package arm

import (
	"fmt"
	"maps"

	"github.com/shopfleet/shopfleet/cloud/fake"
)

// Disk is a disk as the CSI driver makes them.
type Disk struct {
	Subscription, Group string
	// Name is the PersistentVolume's, pvc-….
	Name string
	// Region is a location, Zone eastus-1 or empty.
	Region, Zone string
	SizeBytes    int64
	// SKU is Premium_LRS when empty.
	SKU string
	// Tags holds the tags that the class adds.
	Tags map[string]string
}

// AddDisk adds a disk as disk.csi.azure.com does, in place of one of that name. The ID
// of the volume is the handle that the driver writes.
func (s *Server) AddDisk(d Disk) fake.Volume {
	if d.SKU == "" {
		d.SKU = "Premium_LRS"
	}
	tags := map[string]string{"k8s-azure-created-by": "kubernetes-azure-dd", "kubernetes.io-created-for-pv-name": d.Name}
	maps.Copy(tags, d.Tags)
	return s.cloud.AddVolume(fake.Volume{
		Account: d.Subscription, Region: d.Region, Zone: d.Zone,
		ID:        target{subscription: d.Subscription, group: d.Group, kind: kindDisks, name: d.Name}.id(),
		UID:       guid("disk", fmt.Sprint(s.cloud.Serial())),
		SizeBytes: gibibytes(d.SizeBytes) * gib, Type: d.SKU, Encrypted: true, Tags: tags,
		Description: keep(resource{Properties: &properties{NetworkAccessPolicy: "DenyAll", PublicNetworkAccess: "Disabled"}}),
	})
}
