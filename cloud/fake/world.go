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

// Volume is a volume of the world.
type Volume struct {
	Account, Region, Zone string
	// ID is its handle, the key.
	ID string
	// UID is given by the world when empty.
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
	// Token holds the data that the front end stores to recognize a repeated request.
	Token string
	// From is the snapshot that it was made from.
	From    string
	Created time.Time
}

// Snapshot is a snapshot of the world.
type Snapshot struct {
	Account, Region string
	// ID is the key.
	ID string
	// Source is the handle of the volume, or the ID of the snapshot that it copies.
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
	// State and Progress are as of the moment of reading.
	State    cloud.State
	Progress int
	// Message says why it failed.
	Message string
	// Locked and Used keep it from being deleted.
	Locked, Used bool

	fate  string // Why it will fail; empty when it will not.
	stuck bool
}

// Pace is how long things take in a world.
type Pace struct {
	// Cut is from creation to StateTaken; Ready from creation to StateReady.
	Taken, Ready time.Duration
	// Lag is how long after its creation a snapshot or volume is not shown.
	Lag time.Duration
}

// Cloud is the state of a cloud. Its methods may be called at the same time.
type Cloud struct {
	clock clock.PassiveClock

	mu        sync.Mutex
	pace      Pace
	volumes   map[string]Volume
	snapshots map[string]Snapshot
	made      int
	fate      string
	stuck     bool
}

// NewCloud makes an empty world whose snapshots are Cut at once and Ready after 30 s.
func NewCloud(c clock.PassiveClock) *Cloud {
	return &Cloud{
		clock: c, pace: Pace{Ready: 30 * time.Second},
		volumes: map[string]Volume{}, snapshots: map[string]Snapshot{},
	}
}

// SetPace changes how long things take, for what is made from now on and what is
// under way.
func (w *Cloud) SetPace(p Pace) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pace = p
}

// FailNext lets the next snapshot fail after it was accepted.
func (w *Cloud) FailNext(message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fate = message
}

// StickNext lets the next snapshot never be Cut.
func (w *Cloud) StickNext() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stuck = true
}

// Now returns the current time of the cloud.
func (w *Cloud) Now() time.Time { return w.clock.Now() }

// Serial returns a number that is not returned again, for IDs.
func (w *Cloud) Serial() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	return w.made
}

// AddVolume adds a volume, in place of one with the same ID.
func (w *Cloud) AddVolume(v Volume) Volume {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addVolume(v)
}

// NewVolume adds a volume unless there is one with its ID, hidden or not, which it
// then returns with false.
func (w *Cloud) NewVolume(v Volume) (Volume, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if there, ok := w.volumes[v.ID]; ok {
		there.Tags = maps.Clone(there.Tags)
		return there, false
	}
	return w.addVolume(v), true
}

func (w *Cloud) addVolume(v Volume) Volume {
	w.made++
	if v.UID == "" {
		v.UID = fmt.Sprintf("%d", 1_000_000_000_000_000_000+w.made)
	}
	v.Created = w.clock.Now()
	v.Tags = maps.Clone(v.Tags)
	w.volumes[v.ID] = v
	v.Tags = maps.Clone(v.Tags)
	return v
}

// Volume reads a volume that is visible by now.
func (w *Cloud) Volume(id string) (Volume, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.volumes[id]
	if !ok || w.hidden(v.Created) {
		return Volume{}, false
	}
	v.Tags = maps.Clone(v.Tags)
	return v, true
}

// Volumes reads all volumes, hidden or not, sorted by ID.
func (w *Cloud) Volumes() []Volume {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := sorted(w.volumes)
	for i := range out {
		out[i].Tags = maps.Clone(out[i].Tags)
	}
	return out
}

// EditVolume changes a volume; false if there is none.
func (w *Cloud) EditVolume(id string, edit func(*Volume)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.volumes[id]
	if ok {
		v.Tags = maps.Clone(v.Tags)
		edit(&v)
		w.volumes[id] = v
	}
	return ok
}

// RemoveVolume removes a volume, whatever uses it.
func (w *Cloud) RemoveVolume(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.volumes, id)
}

// AddSnapshot adds a snapshot made now. Two may differ in nothing but their ID.
func (w *Cloud) AddSnapshot(s Snapshot) Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addSnapshot(s)
}

// NewSnapshot adds a snapshot unless there is one with its ID, hidden or not, which it
// then returns with false: for providers whose names are unique.
func (w *Cloud) NewSnapshot(s Snapshot) (Snapshot, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if there, ok := w.snapshots[s.ID]; ok {
		return w.seen(there), false
	}
	return w.addSnapshot(s), true
}

func (w *Cloud) addSnapshot(s Snapshot) Snapshot {
	s.Created, s.Tags, s.Locations = w.clock.Now(), maps.Clone(s.Tags), slices.Clone(s.Locations)
	s.fate, s.stuck = w.fate, w.stuck
	w.fate, w.stuck = "", false
	w.snapshots[s.ID] = s
	return w.seen(s)
}

// Snapshot reads a snapshot that is visible by now.
func (w *Cloud) Snapshot(id string) (Snapshot, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.snapshots[id]
	if !ok || w.hidden(s.Created) {
		return Snapshot{}, false
	}
	return w.seen(s), true
}

// Visible reads the snapshots that are visible by now, sorted by ID.
func (w *Cloud) Visible() []Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Snapshot
	for _, s := range sorted(w.snapshots) {
		if !w.hidden(s.Created) {
			out = append(out, w.seen(s))
		}
	}
	return out
}

// Snapshots reads all snapshots, hidden or not, sorted by ID: the truth.
func (w *Cloud) Snapshots() []Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := sorted(w.snapshots)
	for i := range out {
		out[i] = w.seen(out[i])
	}
	return out
}

// EditSnapshot changes a snapshot; false if there is none.
func (w *Cloud) EditSnapshot(id string, edit func(*Snapshot)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.snapshots[id]
	if ok {
		s.Tags = maps.Clone(s.Tags)
		edit(&s)
		w.snapshots[id] = s
	}
	return ok
}

// RemoveSnapshot removes a snapshot. Copies of it that are under way fail.
func (w *Cloud) RemoveSnapshot(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.snapshots, id)
	for key, s := range w.snapshots {
		if s.IsCopy && s.Source == id && w.seen(s).State != cloud.StateReady {
			s.fate = "the source snapshot was deleted while it was copied"
			w.snapshots[key] = s
		}
	}
}

// hidden reports whether what was made at a time is not shown yet.
func (w *Cloud) hidden(created time.Time) bool {
	return w.clock.Since(created) < w.pace.Lag
}

// seen returns a snapshot as it is at this moment.
func (w *Cloud) seen(s Snapshot) Snapshot {
	age := w.clock.Since(s.Created)
	s.Tags, s.Locations = maps.Clone(s.Tags), slices.Clone(s.Locations)
	switch {
	case s.stuck || age < w.pace.Taken:
		s.State = cloud.StateCreating
	case s.fate != "":
		s.State, s.Message = cloud.StateFailed, s.fate
	case age < w.pace.Ready:
		s.State, s.Progress = cloud.StateTaken, int(100*age/w.pace.Ready)
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
