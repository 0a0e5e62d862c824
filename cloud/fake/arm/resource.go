package arm

import (
	"math"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// resource is a disk or a snapshot on the wire.
type resource struct {
	ID         string            `json:"id,omitempty"`
	Name       string            `json:"name,omitempty"`
	Type       string            `json:"type,omitempty"`
	Location   string            `json:"location,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	Zones      []string          `json:"zones,omitempty"`
	SKU        *sku              `json:"sku,omitempty"`
	ManagedBy  string            `json:"managedBy,omitempty"`
	Properties *properties       `json:"properties,omitempty"`
}

type sku struct {
	Name string `json:"name,omitempty"`
	Tier string `json:"tier,omitempty"`
}

type properties struct {
	CreationData               *creationData `json:"creationData,omitempty"`
	DiskSizeGB                 int64         `json:"diskSizeGB,omitempty"`
	DiskSizeBytes              int64         `json:"diskSizeBytes,omitempty"`
	DiskIOPSReadWrite          int64         `json:"diskIOPSReadWrite,omitempty"`
	DiskMBpsReadWrite          int64         `json:"diskMBpsReadWrite,omitempty"`
	Encryption                 *encryption   `json:"encryption,omitempty"`
	Incremental                *bool         `json:"incremental,omitempty"`
	NetworkAccessPolicy        string        `json:"networkAccessPolicy,omitempty"`
	PublicNetworkAccess        string        `json:"publicNetworkAccess,omitempty"`
	BurstingEnabled            *bool         `json:"burstingEnabled,omitempty"`
	OptimizedForFrequentAttach *bool         `json:"optimizedForFrequentAttach,omitempty"`
	MaxShares                  int32         `json:"maxShares,omitempty"`
	ProvisioningState          string        `json:"provisioningState,omitempty"`
	CompletionPercent          *float64      `json:"completionPercent,omitempty"`
	CopyCompletionError        *copyError    `json:"copyCompletionError,omitempty"`
	DiskState                  string        `json:"diskState,omitempty"`
	TimeCreated                *time.Time    `json:"timeCreated,omitempty"`
	UniqueID                   string        `json:"uniqueId,omitempty"`
}

type creationData struct {
	CreateOption                 string `json:"createOption,omitempty"`
	SourceResourceID             string `json:"sourceResourceId,omitempty"`
	SourceUniqueID               string `json:"sourceUniqueId,omitempty"`
	LogicalSectorSize            int32  `json:"logicalSectorSize,omitempty"`
	PerformancePlus              *bool  `json:"performancePlus,omitempty"`
	InstantAccessDurationMinutes int64  `json:"instantAccessDurationMinutes,omitempty"`
	CopySpeed                    string `json:"provisionedBandwidthCopySpeed,omitempty"`
}

type encryption struct {
	Type                string `json:"type,omitempty"`
	DiskEncryptionSetID string `json:"diskEncryptionSetId,omitempty"`
}

type copyError struct {
	Code    string `json:"errorCode"`
	Message string `json:"errorMessage"`
}

// kept holds the properties of a snapshot or disk that fake.Cloud does not store.
type kept struct {
	Incremental         bool   `json:"incremental"`
	NetworkAccessPolicy string `json:"networkAccessPolicy"`
	PublicNetworkAccess string `json:"publicNetworkAccess"`
}

// The types of encryption.
const (
	platformKey = "EncryptionAtRestWithPlatformKey"
	customerKey = "EncryptionAtRestWithCustomerKey"
)

// The values of createOption that are served.
const (
	optionCopy      = "Copy"
	optionCopyStart = "CopyStart"
	optionEmpty     = "Empty"
)

const gib = 1 << 30

func gibibytes(bytes int64) int64 { return (bytes + gib - 1) / gib }

// snapshotResource returns a snapshot in the service's format.
func snapshotResource(s fake.Snapshot) resource {
	k, created := recall(s.Description), s.Created.UTC()
	p := &properties{
		CreationData: &creationData{CreateOption: optionCopy, SourceResourceID: s.Source, SourceUniqueID: s.SourceUID},
		DiskSizeGB:   gibibytes(s.SizeBytes), DiskSizeBytes: s.SizeBytes,
		Encryption:  encrypted(s.KMSKey),
		Incremental: &k.Incremental, NetworkAccessPolicy: k.NetworkAccessPolicy, PublicNetworkAccess: k.PublicNetworkAccess,
		DiskState: "Unattached", TimeCreated: &created, UniqueID: snapshotUID(s),
	}
	if s.IsCopy {
		p.CreationData.CreateOption = optionCopyStart
	}
	percent := math.Min(float64(s.Progress), 100)
	switch s.State {
	case cloud.StateCreating:
		p.ProvisioningState = "Creating"
	case cloud.StateFailed:
		fail(p, s)
	case cloud.StateDeleting:
		p.ProvisioningState = "Deleting"
	default:
		p.ProvisioningState, p.CompletionPercent = "Succeeded", &percent
	}
	return resource{
		ID: s.ID, Name: nameOf(s.ID), Type: "Microsoft.Compute/snapshots", Location: s.Region, Tags: s.Tags,
		SKU: &sku{Name: "Standard_ZRS", Tier: "Standard"}, Properties: p,
	}
}

// fail sets the failure of a copy in the background, after provisioning succeeded.
func fail(p *properties, s fake.Snapshot) {
	if !s.IsCopy {
		p.ProvisioningState = "Failed"
		return
	}
	percent := float64(s.Progress)
	p.ProvisioningState, p.CompletionPercent = "Succeeded", &percent
	p.CopyCompletionError = &copyError{Code: "CopySourceNotFound", Message: s.Message}
}

// diskResource returns a disk in the service's format.
func diskResource(v fake.Volume) resource {
	k, created := recall(v.Description), v.Created.UTC()
	p := &properties{
		CreationData: &creationData{CreateOption: optionEmpty},
		DiskSizeGB:   gibibytes(v.SizeBytes), DiskSizeBytes: v.SizeBytes,
		DiskIOPSReadWrite: v.IOPS, DiskMBpsReadWrite: v.Throughput, Encryption: encrypted(v.KMSKey),
		NetworkAccessPolicy: k.NetworkAccessPolicy, PublicNetworkAccess: k.PublicNetworkAccess,
		ProvisioningState: "Succeeded", DiskState: "Unattached", TimeCreated: &created, UniqueID: v.UID,
	}
	if v.From != "" {
		p.CreationData = &creationData{CreateOption: optionCopy, SourceResourceID: v.From}
	}
	r := resource{
		ID: v.ID, Name: nameOf(v.ID), Type: "Microsoft.Compute/disks", Location: v.Region, Tags: v.Tags,
		SKU: &sku{Name: v.Type, Tier: strings.TrimSuffix(strings.TrimSuffix(v.Type, "_LRS"), "_ZRS")}, Properties: p,
	}
	if zone, ok := strings.CutPrefix(v.Zone, v.Region+"-"); ok {
		r.Zones = []string{zone}
	}
	if v.Attached {
		p.DiskState = "Attached"
		r.ManagedBy = strings.Split(v.ID, "/providers/")[0] + "/providers/Microsoft.Compute/virtualMachines/node-0"
	}
	return r
}

func encrypted(key string) *encryption {
	if key == "" {
		return &encryption{Type: platformKey}
	}
	return &encryption{Type: customerKey, DiskEncryptionSetID: key}
}

func snapshotUID(s fake.Snapshot) string {
	return guid("snapshot", s.ID, s.Created.UTC().Format(time.RFC3339Nano))
}

func nameOf(id string) string { return id[strings.LastIndex(id, "/")+1:] }
