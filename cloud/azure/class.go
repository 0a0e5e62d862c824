package azure

import (
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"github.com/shopfleet/shopfleet/cloud"
)

// defaultSKU is the SKU that disk.csi.azure.com uses for a class without skuName.
const defaultSKU = "StandardSSD_LRS"

// disk returns the disk for a spec, without its size and name.
func (a *account) disk(r request, spec cloud.VolumeSpec) (armcompute.Disk, error) {
	class := parameters(spec.Class)
	properties := &armcompute.DiskProperties{
		CreationData: &armcompute.CreationData{
			CreateOption: new(armcompute.DiskCreateOptionCopy), SourceResourceID: new(spec.Snapshot.ID),
		},
		NetworkAccessPolicy: new(armcompute.NetworkAccessPolicyDenyAll), PublicNetworkAccess: new(armcompute.PublicNetworkAccessDisabled),
	}
	out := armcompute.Disk{
		Location: new(a.region), Tags: toTags(spec.Tags), Properties: properties,
		SKU: &armcompute.DiskSKU{Name: new(armcompute.DiskStorageAccountTypes(class.first(defaultSKU, "skuname", "storageaccounttype")))},
	}
	// A zone-redundant disk is in all zones: Azure refuses one, as the driver knows too.
	if zonal := !strings.HasSuffix(strings.ToUpper(string(*out.SKU.Name)), "_ZRS"); zonal && spec.Zone != "" {
		zone, ok := a.zoneNumber(spec.Zone)
		if !ok {
			return out, r.refuse(cloud.ClassInvalid, "InvalidZone", strconv.Quote(spec.Zone)+" is not a zone of region "+a.region)
		}
		out.Zones = []*string{new(zone)}
	}
	for name, field := range map[string]**int64{
		"diskiopsreadwrite": &properties.DiskIOPSReadWrite, "diskmbpsreadwrite": &properties.DiskMBpsReadWrite,
	} {
		text := class[name]
		if text == "" {
			continue
		}
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil || number <= 0 {
			return out, r.refuse(cloud.ClassInvalid, "InvalidClass", "the parameter "+name+" of the class is not a number: "+strconv.Quote(text))
		}
		*field = new(number)
	}
	if set := class["diskencryptionsetid"]; set != "" {
		kind := class.first(string(armcompute.EncryptionTypeEncryptionAtRestWithCustomerKey), "diskencryptiontype")
		properties.Encryption = &armcompute.Encryption{DiskEncryptionSetID: new(set), Type: new(armcompute.EncryptionType(kind))}
	}
	if text := class["logicalsectorsize"]; text != "" {
		size, err := strconv.ParseInt(text, 10, 32)
		if err != nil || size <= 0 {
			return out, r.refuse(cloud.ClassInvalid, "InvalidClass", "the parameter logicalSectorSize of the class is not a number: "+strconv.Quote(text))
		}
		properties.CreationData.LogicalSectorSize = new(int32(size))
	}
	if class["enablebursting"] == "true" {
		properties.BurstingEnabled = new(true)
	}
	return out, nil
}

// classParameters holds the parameters of a StorageClass, whose names the driver compares
// without case.
type classParameters map[string]string

func parameters(class map[string]string) classParameters {
	out := make(classParameters, len(class))
	for name, value := range class {
		out[strings.ToLower(name)] = value
	}
	return out
}

func (p classParameters) first(otherwise string, names ...string) string {
	for _, name := range names {
		if p[name] != "" {
			return p[name]
		}
	}
	return otherwise
}
