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
	// interval is the time between two checks for changes.
	interval = 250 * time.Millisecond
	// skipped are the IDs that may have been given away unseen before an end.
	skipped = 1000
)

// saved is the file format of a Cloud.
type saved struct {
	// Serial is the last number that was given away.
	Serial    int             `json:"serial"`
	Volumes   []fake.Volume   `json:"volumes,omitempty"`
	Snapshots []fake.Snapshot `json:"snapshots,omitempty"`
}

// savedCloud is a fake.Cloud that is saved in a file.
type savedCloud struct {
	cloud *fake.Cloud
	file  string
	last  saved
}

// openSaved returns the Cloud of a file, or an empty one.
func openSaved(file string) (*savedCloud, error) {
	k := &savedCloud{cloud: fake.NewCloud(clock.RealClock{}), file: file}
	k.cloud.SetPace(fake.Pace{Ready: ready})
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
		k.cloud.AddVolume(v)
		k.cloud.EditVolume(v.ID, func(now *fake.Volume) { now.Created = v.Created })
	}
	for _, s := range was.Snapshots {
		k.cloud.AddSnapshot(s)
		k.cloud.EditSnapshot(s.ID, func(now *fake.Snapshot) { now.Created = s.Created })
	}
	// No ID comes twice.
	for given := 0; given < was.Serial+skipped; {
		given = k.cloud.Serial()
	}
	return k, nil
}

// follow saves the Cloud after changes, and when ctx is done.
func (s *savedCloud) follow(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.save()
		case <-ticker.C:
			if err := s.save(); err != nil {
				return err
			}
		}
	}
}

// save writes the file if the Cloud has changed.
func (s *savedCloud) save() error {
	now := saved{Serial: s.last.Serial, Volumes: s.cloud.Volumes(), Snapshots: s.cloud.Snapshots()}
	if reflect.DeepEqual(now, s.last) {
		return nil
	}
	now.Serial = s.cloud.Serial()
	raw, err := json.MarshalIndent(now, "", "  ")
	partial := s.file + ".partial"
	if err == nil {
		err = os.WriteFile(partial, raw, 0o600)
	}
	if err == nil {
		err = os.Rename(partial, s.file)
	}
	if err != nil {
		return fmt.Errorf("keeping the cloud: %w", err)
	}
	s.last = now
	return nil
}
