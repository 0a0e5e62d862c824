package csi

import (
	"strconv"

	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/arm"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
)

// What gp3 may do.
const (
	leastIOPS  = 3000
	iopsPerGiB = 500
)

// Driver is the driver of a cloud.
type Driver struct {
	// name is the name of its CSIDriver, topology its label for zones.
	name, topology string
	cloud          *fake.Cloud
	// provision makes a volume and returns its handle.
	provision func(volume) (string, error)
}

// volume represents the volume that a claim requests.
type volume struct {
	// name is the PersistentVolume's.
	name string
	// zone is the value of the driver's label on the node.
	zone       string
	sizeBytes  int64
	parameters map[string]string
	tags       map[string]string
}

// number parses a parameter; 0 is the driver's default.
func (v volume) number(parameter string) (int64, error) {
	text := v.parameters[parameter]
	if text == "" {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

func newDriver(fakeCloud *fake.Cloud, name string, provision func(volume) (string, error)) Driver {
	return Driver{name: name, topology: csi.TopologyKey(name), cloud: fakeCloud, provision: provision}
}

// EBS returns the driver of Amazon's volumes, in an account.
func EBS(fakeCloud *fake.Cloud, server *ec2.Server, account string) Driver {
	return newDriver(fakeCloud, csi.DriverEBS, func(v volume) (string, error) {
		iops, err := v.number("iops")
		if err != nil {
			return "", err
		}
		throughput, err := v.number("throughput")
		if err != nil {
			return "", err
		}
		// The driver uses less if the volume is too small for what its class requests.
		iops = min(iops, max(leastIOPS, iopsPerGiB*v.sizeBytes/gib))
		return server.Provision(ec2.Disk{
			Account: account, Zone: v.zone, Name: v.name, SizeBytes: v.sizeBytes, Type: v.parameters["type"],
			IOPS: iops, Throughput: throughput, Encrypted: v.parameters["encrypted"] == "true", Tags: v.tags,
		}).ID, nil
	})
}

// PD returns the driver of Google's disks, in a project.
func PD(fakeCloud *fake.Cloud, server *gce.Server, project string) Driver {
	return newDriver(fakeCloud, csi.DriverPD, func(v volume) (string, error) {
		handle := server.CSIDisk(project, v.zone, v.name, v.sizeBytes)
		fakeCloud.EditVolume(handle, func(made *fake.Volume) { made.Type = v.parameters["type"] })
		return handle, nil
	})
}

// AzureDisk returns the driver of Azure's disks, in the resource group of a cluster's nodes.
func AzureDisk(fakeCloud *fake.Cloud, server *arm.Server, group arm.Disk) Driver {
	return newDriver(fakeCloud, csi.DriverAzureDisk, func(v volume) (string, error) {
		disk := group
		disk.Name, disk.Zone, disk.SizeBytes, disk.SKU, disk.Tags = v.name, v.zone, v.sizeBytes, v.parameters["skuName"], v.tags
		return server.AddDisk(disk).ID, nil
	})
}
