package bench

import (
	"net/http"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// Bench is a provider on the bench: what makes sessions of it, and the cloud behind
// them. Each case of the suite gets one of its own.
type Bench struct {
	Provider v1.Provider
	// Clock is the cloud's and the sessions'. It moves when a case moves it, and by
	// itself as far as a session sleeps.
	Clock *testclock.FakeClock
	World *fake.World
	// Store is the truth where the provider keeps its own and there is no World.
	Store Store
	// Script lets requests go wrong.
	Script *faults.Script
	// Regions are two regions; Zones is a zone of each.
	Regions [2]string
	Zones   [2]string
	// Connect makes a session that remembers nothing, as after a crash.
	Connect func(t testing.TB, o Options) cloud.Session
	// Disk adds a volume as the provider's CSI driver would make it, in the first
	// region, and returns where it is. A second call with the same name makes it anew.
	Disk func(t testing.TB, name string, sizeBytes int64) cloud.VolumeRef
	// Stranger adds a snapshot that no hub made.
	Stranger func(t testing.TB) cloud.SnapshotRef
	// Refusal is the provider's own answer of a class, to an operation.
	Refusal func(class cloud.Class, op faults.Op, after time.Duration) faults.Answer
	// VolumeRate is the provider's refusal of a snapshot that comes too soon after
	// another of its volume, and the provider's minimum between them; nil is Spare 36.
	VolumeRate func() (answer faults.Answer, least time.Duration)
	// UnknownState is a good answer to GetSnapshot with a state that nobody knows;
	// nil is Spare 40.
	UnknownState func(t testing.TB, ref cloud.SnapshotRef) faults.Answer
	// Double adds a second snapshot like one that is there, as the request after a
	// lost answer makes it; nil where names are unique.
	Double func(t testing.TB, id string) cloud.SnapshotRef
	// Class are parameters of a StorageClass, and ClassVolume the Type, IOPS,
	// Throughput and Encrypted of a volume that is made with them.
	Class       map[string]string
	ClassVolume cloud.Volume
	// PageSize makes the cloud answer lists in pages of at most so many; nil where
	// lists have no pages.
	PageSize func(n int)
	// Validate checks a recorded request against the vendor's own description of its
	// API; nil says why there is none in NoOracle.
	Validate func(call faults.Call) error
	NoOracle string
	// Secrets are texts that must be in no error: keys, tokens, signatures.
	Secrets []string
	// Spare are the cases that cannot be put to this provider, by number, with the reason.
	Spare map[int]string
}

// Store is the truth about a cloud, and what people do to it behind the session's back.
type Store interface {
	SnapshotStore
	VolumeStore
}

// SnapshotStore is Store's part about snapshots. Those of fake.World are meant.
type SnapshotStore interface {
	Snapshots() []fake.Snapshot
	EditSnapshot(id string, edit func(*fake.Snapshot)) bool
	RemoveSnapshot(id string)
}

// VolumeStore is Store's part about volumes.
type VolumeStore interface {
	Volumes() []fake.Volume
	EditVolume(id string, edit func(*fake.Volume)) bool
	RemoveVolume(id string)
}

// Options are what a session is made with.
type Options struct {
	// Region is the index into Bench.Regions.
	Region int
	// OtherAccount makes it a second account's.
	OtherAccount bool
	// BadCredentials are refused by the cloud.
	BadCredentials bool
	// HTTP wraps what sends requests; nil leaves it.
	HTTP func(http.RoundTripper) http.RoundTripper
}
