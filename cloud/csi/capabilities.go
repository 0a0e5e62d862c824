package csi

import (
	"slices"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// CopyMode is a provider's way to copy snapshots to another region.
type CopyMode string

// The modes of copying.
const (
	// CopyNone means that snapshots cannot be copied.
	CopyNone CopyMode = "None"
	// CopyByCopy means that Snapshots.EnsureCopy makes a second snapshot there.
	CopyByCopy CopyMode = "ByCopy"
	// CopyByLocation means that SnapshotSpec.Locations says where one is stored.
	CopyByLocation CopyMode = "ByLocation"
)

// Capabilities describes the features that a provider supports.
type Capabilities struct {
	// Snapshots reports whether its volumes can be snapshotted through its API.
	Snapshots bool
	Copy      CopyMode
	// MinInterval is the least time between two snapshots of a volume.
	MinInterval time.Duration
}

// Copyable returns the regions to request for a snapshot: the wanted ones without its own. With
// CopyByLocation a snapshot is stored in one region, so that the result is at most one, maybe the own.
func Copyable(p v1.Provider, own string, wanted []string) []string {
	regions := slices.DeleteFunc(slices.Clone(wanted), func(region string) bool { return region == own })
	if CapabilitiesOf(p).Copy != CopyByLocation {
		return regions
	}
	if len(regions) == 0 {
		regions = wanted
	}
	return regions[:min(len(regions), 1)]
}

// CapabilitiesOf returns the capabilities of a provider; an unknown one has none.
func CapabilitiesOf(p v1.Provider) Capabilities {
	switch p {
	case v1.ProviderAWS:
		return Capabilities{Snapshots: true, Copy: CopyByCopy, MinInterval: 15 * time.Second}
	case v1.ProviderGCP:
		return Capabilities{Snapshots: true, Copy: CopyByLocation, MinInterval: 10 * time.Minute}
	case v1.ProviderAzure:
		// Seven in five minutes are allowed.
		return Capabilities{Snapshots: true, Copy: CopyByCopy, MinInterval: time.Minute}
	default:
		// A path in a node stays in that node; its database is dumped.
		return Capabilities{Copy: CopyNone}
	}
}
