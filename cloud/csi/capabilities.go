package csi

import (
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// CopyMode is how a provider's snapshots get to another region.
type CopyMode string

// The ways to another region.
const (
	// CopyNone means that they do not.
	CopyNone CopyMode = "None"
	// CopyByCopy means that Snapshots.EnsureCopy makes a second snapshot there.
	CopyByCopy CopyMode = "ByCopy"
	// CopyByLocation means that SnapshotSpec.Locations says where one is stored.
	CopyByLocation CopyMode = "ByLocation"
)

// Capabilities are what a provider can do.
type Capabilities struct {
	// Snapshots tells whether its volumes can be snapshotted through its API.
	Snapshots bool
	Copy      CopyMode
	// MinInterval is the least time between two snapshots of a volume.
	MinInterval time.Duration
	// MaxNameLength is that of a snapshot's name, in characters.
	MaxNameLength int
	// RestoreAcrossZones tells whether a volume can be made in another zone of the
	// region than that of the volume which the snapshot is of.
	RestoreAcrossZones bool
}

// CapabilitiesOf returns what a provider can do; an unknown one can do nothing.
func CapabilitiesOf(p v1.Provider) Capabilities {
	switch p {
	case v1.ProviderAWS:
		// The name is the value of a tag.
		return Capabilities{Snapshots: true, Copy: CopyByCopy, MinInterval: 15 * time.Second, MaxNameLength: 256, RestoreAcrossZones: true}
	case v1.ProviderGCP:
		return Capabilities{Snapshots: true, Copy: CopyByLocation, MinInterval: 10 * time.Minute, MaxNameLength: 63, RestoreAcrossZones: true}
	case v1.ProviderAzure:
		// Seven in five minutes are allowed.
		return Capabilities{Snapshots: true, Copy: CopyByCopy, MinInterval: time.Minute, MaxNameLength: 80, RestoreAcrossZones: true}
	default:
		// A path in a node stays in that node; its database is dumped.
		return Capabilities{Copy: CopyNone}
	}
}
