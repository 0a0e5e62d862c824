package fake

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud"
)

// Volume is a volume of a Cloud.
type Volume struct {
	Account, Region, Zone string
	// ID is the handle, and unique.
	ID string
	// UID is set by the Cloud if it is empty.
	UID              string
	SizeBytes        int64
	Type             string
	IOPS, Throughput int64
	Encrypted        bool
	KMSKey           string
	Attached         bool
	Tags             map[string]string
	// Description holds the data that the front end stores beside the tags.
	Description string
	// From is the snapshot that it was made from.
	From    string
	Created time.Time
}

// Snapshot is a snapshot of a Cloud.
type Snapshot struct {
	Account, Region string
	// ID is unique.
	ID string
	// Source is the handle of the volume, or for a copy the ID of the source snapshot.
	Source    string
	SourceUID string
	IsCopy    bool
	SizeBytes int64
	Encrypted bool
	KMSKey    string
	Locations []string
	Tags      map[string]string
	// Description holds the data that the front end stores beside the tags.
	Description string
	Created     time.Time
	// State and Progress hold the values at the time of the call.
	State    cloud.State
	Progress int
	// Message is the reason of a failure.
	Message string
	// Locked and Used prevent its deletion.
	Locked, Used bool

	failure string // The message with which it will fail, empty if it will not.
	stuck   bool
}

// Pace holds the durations of changes.
type Pace struct {
	// Taken is the time from creation to StateTaken, Ready that to StateReady.
	Taken, Ready time.Duration
	// Lag is the time until a new snapshot or volume is visible.
	Lag time.Duration
}

// Cloud is the state of a cloud: volumes and snapshots. It is safe for concurrent use.
type Cloud struct {
	clock clock.PassiveClock

	mu        sync.Mutex
	pace      Pace
	volumes   map[string]Volume
	snapshots map[string]Snapshot
	made      int
	failure   string
	stuck     bool
}

// NewCloud returns an empty Cloud whose snapshots are Taken at once and Ready after 30 s.
func NewCloud(c clock.PassiveClock) *Cloud {
	return &Cloud{
		clock: c, pace: Pace{Ready: 30 * time.Second},
		volumes: map[string]Volume{}, snapshots: map[string]Snapshot{},
	}
}

// SetPace changes how long changes take, pending ones included.
func (c *Cloud) SetPace(p Pace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace = p
}

// FailNext makes the next snapshot fail after it was accepted.
func (c *Cloud) FailNext(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = message
}

// StickNext makes the next snapshot never reach StateTaken.
func (c *Cloud) StickNext() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stuck = true
}

// Now returns the current time of the cloud.
func (c *Cloud) Now() time.Time { return c.clock.Now() }

// Serial returns a number that no other call returns, for IDs.
func (c *Cloud) Serial() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	return c.made
}

// AddVolume adds a volume, or replaces the one with the same ID.
func (c *Cloud) AddVolume(v Volume) Volume {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	if v.UID == "" {
		v.UID = fmt.Sprintf("%d", 1_000_000_000_000_000_000+c.made)
	}
	v.Created = c.clock.Now()
	v.Tags = maps.Clone(v.Tags)
	c.volumes[v.ID] = v
	v.Tags = maps.Clone(v.Tags)
	return v
}

// Volume returns a visible volume.
func (c *Cloud) Volume(id string) (Volume, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.volumes[id]
	if !ok || c.hidden(v.Created) {
		return Volume{}, false
	}
	v.Tags = maps.Clone(v.Tags)
	return v, true
}

// Volumes returns all volumes, visible or not, sorted by ID.
func (c *Cloud) Volumes() []Volume {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := sorted(c.volumes)
	for i := range out {
		out[i].Tags = maps.Clone(out[i].Tags)
	}
	return out
}

// EditVolume changes a volume, and reports whether it exists.
func (c *Cloud) EditVolume(id string, edit func(*Volume)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.volumes[id]
	if ok {
		v.Tags = maps.Clone(v.Tags)
		edit(&v)
		c.volumes[id] = v
	}
	return ok
}

// RemoveVolume removes a volume, even if it is in use.
func (c *Cloud) RemoveVolume(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.volumes, id)
}

// AddSnapshot adds a snapshot created now. Names may repeat, IDs not.
func (c *Cloud) AddSnapshot(s Snapshot) Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addSnapshot(s)
}

// NewSnapshot adds a snapshot. If one with its ID exists, visible or not, it returns that
// and false: for providers whose names are unique.
func (c *Cloud) NewSnapshot(s Snapshot) (Snapshot, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there, ok := c.snapshots[s.ID]; ok {
		return c.seen(there), false
	}
	return c.addSnapshot(s), true
}

func (c *Cloud) addSnapshot(s Snapshot) Snapshot {
	s.Created, s.Tags, s.Locations = c.clock.Now(), maps.Clone(s.Tags), slices.Clone(s.Locations)
	s.failure, s.stuck = c.failure, c.stuck
	c.failure, c.stuck = "", false
	c.snapshots[s.ID] = s
	return c.seen(s)
}

// Snapshot returns a visible snapshot.
func (c *Cloud) Snapshot(id string) (Snapshot, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.snapshots[id]
	if !ok || c.hidden(s.Created) {
		return Snapshot{}, false
	}
	return c.seen(s), true
}

// Visible returns the visible snapshots, sorted by ID.
func (c *Cloud) Visible() []Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Snapshot
	for _, s := range sorted(c.snapshots) {
		if !c.hidden(s.Created) {
			out = append(out, c.seen(s))
		}
	}
	return out
}

// Snapshots returns all snapshots, visible or not, sorted by ID.
func (c *Cloud) Snapshots() []Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := sorted(c.snapshots)
	for i := range out {
		out[i] = c.seen(out[i])
	}
	return out
}

// EditSnapshot changes a snapshot, and reports whether it exists.
func (c *Cloud) EditSnapshot(id string, edit func(*Snapshot)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.snapshots[id]
	if ok {
		s.Tags = maps.Clone(s.Tags)
		edit(&s)
		c.snapshots[id] = s
	}
	return ok
}

// RemoveSnapshot removes a snapshot. Pending copies of it fail.
func (c *Cloud) RemoveSnapshot(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.snapshots, id)
	for key, s := range c.snapshots {
		if s.IsCopy && s.Source == id && c.seen(s).State != cloud.StateReady {
			s.failure = "the source snapshot was deleted while it was copied"
			c.snapshots[key] = s
		}
	}
}

// hidden reports whether an object created at this time is not visible yet.
func (c *Cloud) hidden(created time.Time) bool {
	return c.clock.Since(created) < c.pace.Lag
}

// seen returns a snapshot as it is now.
func (c *Cloud) seen(s Snapshot) Snapshot {
	age := c.clock.Since(s.Created)
	s.Tags, s.Locations = maps.Clone(s.Tags), slices.Clone(s.Locations)
	switch {
	case s.stuck || age < c.pace.Taken:
		s.State = cloud.StateCreating
	case s.failure != "":
		s.State, s.Message = cloud.StateFailed, s.failure
	case age < c.pace.Ready:
		s.State, s.Progress = cloud.StateTaken, int(100*age/c.pace.Ready)
	default:
		s.State, s.Progress = cloud.StateReady, 100
	}
	return s
}

func sorted[T any](all map[string]T) []T {
	out := make([]T, 0, len(all))
	for _, id := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[id])
	}
	return out
}
