package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake"
)

const (
	// interval is how often the world is looked at for changes.
	interval = 250 * time.Millisecond
	// skipped are the IDs that may have been given away unseen before an end.
	skipped = 1000
)

// saved is a world in a file.
type saved struct {
	// Serial is the last number that was given away.
	Serial    int             `json:"serial"`
	Volumes   []fake.Volume   `json:"volumes,omitempty"`
	Snapshots []fake.Snapshot `json:"snapshots,omitempty"`
}

// keptWorld is a world with a copy in a file.
type keptWorld struct {
	world *fake.Cloud
	file  string
	last  saved
}

// openWorld returns the world of the file, or an empty one.
func openWorld(file string) (*keptWorld, error) {
	k := &keptWorld{world: fake.NewCloud(clock.RealClock{}), file: file}
	k.world.SetPace(fake.Pace{Ready: ready})
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	was := saved{}
	if err == nil {
		err = json.Unmarshal(raw, &was)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the cloud of an earlier run: %w", err)
	}
	for _, v := range was.Volumes {
		k.world.AddVolume(v)
		k.world.EditVolume(v.ID, func(now *fake.Volume) { now.Created = v.Created })
	}
	for _, s := range was.Snapshots {
		k.world.AddSnapshot(s)
		k.world.EditSnapshot(s.ID, func(now *fake.Snapshot) { now.Created = s.Created })
	}
	// No ID comes twice.
	for given := 0; given < was.Serial+skipped; {
		given = k.world.Serial()
	}
	return k, nil
}

// follow writes the world down after changes, and at the end.
func (k *keptWorld) follow(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return k.save()
		case <-ticker.C:
			if err := k.save(); err != nil {
				return err
			}
		}
	}
}

// save writes the world down if it has changed.
func (k *keptWorld) save() error {
	now := saved{Serial: k.last.Serial, Volumes: k.world.Volumes(), Snapshots: k.world.Snapshots()}
	if reflect.DeepEqual(now, k.last) {
		return nil
	}
	now.Serial = k.world.Serial()
	raw, err := json.MarshalIndent(now, "", "  ")
	partial := k.file + ".partial"
	if err == nil {
		err = os.WriteFile(partial, raw, 0o600)
	}
	if err == nil {
		err = os.Rename(partial, k.file)
	}
	if err != nil {
		return fmt.Errorf("keeping the cloud: %w", err)
	}
	k.last = now
	return nil
}
