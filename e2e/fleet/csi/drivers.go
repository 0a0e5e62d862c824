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
	provision func(Volume) (string, error)
}

// Name returns the name of the driver's CSIDriver.
func (d Driver) Name() string { return d.name }

// TopologyKey returns the driver's label for zones.
func (d Driver) TopologyKey() string { return d.topology }

// Cloud returns the cloud in which the driver makes volumes.
func (d Driver) Cloud() *fake.Cloud { return d.cloud }

// Provision makes a volume and returns its handle.
func (d Driver) Provision(v Volume) (string, error) {
	handle, err := d.provision(v)
	if err == nil && v.Snapshot != "" {
		d.cloud.EditVolume(handle, func(made *fake.Volume) { made.From = v.Snapshot })
	}
	return handle, err
}

// Volume represents the volume that a claim requests.
type Volume struct {
	// Name is the PersistentVolume's.
	Name string
	// Zone is the value of the driver's label on the node, and empty for a volume that is in several.
	Zone       string
	SizeBytes  int64
	Parameters map[string]string
	Tags       map[string]string
	// Snapshot is the ID of the snapshot that the volume has its data from, if any.
	Snapshot string
}

// number parses a parameter; 0 is the driver's default.
func (v Volume) number(parameter string) (int64, error) {
	text := v.Parameters[parameter]
	if text == "" {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

func newDriver(fakeCloud *fake.Cloud, name string, provision func(Volume) (string, error)) Driver {
	return Driver{name: name, topology: csi.TopologyKey(name), cloud: fakeCloud, provision: provision}
}

// EBS returns the driver of Amazon's volumes, in an account.
func EBS(fakeCloud *fake.Cloud, server *ec2.Server, account string) Driver {
	return newDriver(fakeCloud, csi.DriverEBS, func(v Volume) (string, error) {
		iops, err := v.number("iops")
		if err != nil {
			return "", err
		}
		throughput, err := v.number("throughput")
		if err != nil {
			return "", err
		}
		// The driver uses less if the volume is too small for what its class requests.
		iops = min(iops, max(leastIOPS, iopsPerGiB*v.SizeBytes/gib))
		return server.Provision(ec2.Disk{
			Account: account, Zone: v.Zone, Name: v.Name, SizeBytes: v.SizeBytes, Type: v.Parameters["type"],
			IOPS: iops, Throughput: throughput, Encrypted: v.Parameters["encrypted"] == "true", Tags: v.Tags,
		}).ID, nil
	})
}

// PD returns the driver of Google's disks, in a project.
func PD(fakeCloud *fake.Cloud, server *gce.Server, project string) Driver {
	return newDriver(fakeCloud, csi.DriverPD, func(v Volume) (string, error) {
		handle := server.CSIDisk(project, v.Zone, v.Name, v.SizeBytes)
		fakeCloud.EditVolume(handle, func(made *fake.Volume) { made.Type = v.Parameters["type"] })
		return handle, nil
	})
}

// AzureDisk returns the driver of Azure's disks, in the resource group of a cluster's nodes.
func AzureDisk(fakeCloud *fake.Cloud, server *arm.Server, group arm.Disk) Driver {
	return newDriver(fakeCloud, csi.DriverAzureDisk, func(v Volume) (string, error) {
		disk := group
		disk.Name, disk.Zone, disk.SizeBytes, disk.SKU, disk.Tags = v.Name, v.Zone, v.SizeBytes, v.Parameters["skuName"], v.Tags
		return server.AddDisk(disk).ID, nil
	})
}
