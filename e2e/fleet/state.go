package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"

	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

const fileState = "state.json"

// state holds the data with which a later process finds the fleet again. It holds no secrets.
type state struct {
	Programs string `json:"programs"`
	// Complete is false as long as the fleet has not started for the first time.
	Complete bool           `json:"complete"`
	Hub      *clusterState  `json:"hub,omitempty"`
	Members  []clusterState `json:"members,omitempty"`
}

type clusterState struct {
	Spec      ClusterSpec              `json:"spec"`
	Ports     ports                    `json:"ports"`
	Processes map[Component]process.ID `json:"processes,omitempty"`
}

func (c *Cluster) state() clusterState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return clusterState{Spec: c.spec, Ports: c.ports, Processes: maps.Clone(c.processes)}
}

// save writes the state file anew. It is replaced as a whole, so that a reader, or
// a crash, never sees half of it.
func (f *Fleet) save() error {
	f.saving.Lock()
	defer f.saving.Unlock()
	current := state{Programs: string(f.programs), Complete: f.complete}
	if f.hub != nil {
		hub := f.hub.state()
		current.Hub = &hub
	}
	for _, member := range f.members {
		current.Members = append(current.Members, member.state())
	}
	raw, err := json.MarshalIndent(current, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the state: %w", err)
	}
	partial := filepath.Join(f.dir, "."+fileState)
	err = os.WriteFile(partial, raw, privateFile)
	if err == nil {
		err = os.Rename(partial, filepath.Join(f.dir, fileState))
	}
	// A stopped fleet may have no folder any more.
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("saving the state: %w", err)
	}
	return nil
}

// Open returns the fleet that Up left in the folder, running or not. Without one,
// the error is fs.ErrNotExist. A fleet that is not Complete can only be removed.
func Open(dir string) (*Fleet, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolving the data folder: %w", err)
	}
	raw, err := os.ReadFile(filepath.Join(absolute, fileState))
	if err != nil {
		return nil, fmt.Errorf("reading the fleet's state: %w", err)
	}
	var saved state
	if err := json.Unmarshal(raw, &saved); err != nil {
		return nil, fmt.Errorf("decoding the fleet's state: %w", err)
	}
	f := &Fleet{dir: absolute, programs: binaries.Dir(saved.Programs), complete: saved.Complete}
	if saved.Hub != nil {
		if f.hub, err = f.reopen(*saved.Hub); err != nil {
			return nil, err
		}
	}
	for _, each := range saved.Members {
		member, err := f.reopen(each)
		if err != nil {
			return nil, err
		}
		f.members = append(f.members, member)
	}
	return f, nil
}

func (f *Fleet) reopen(saved clusterState) (*Cluster, error) {
	c := f.newCluster(saved.Spec, false)
	c.ports = saved.Ports
	maps.Copy(c.processes, saved.Processes)
	var err error
	c.admin, err = loadConfig(c.AdminKubeconfig())
	if err != nil && f.complete {
		return nil, fmt.Errorf("opening cluster %q: %w", saved.Spec.Name, err)
	}
	return c, nil
}

// Complete reports whether the fleet has ever been up. It has not if the process that
// started it was killed before.
func (f *Fleet) Complete() bool { return f.complete }

// Remove ends all processes and removes everything the fleet made. Other files in
// its folder stay, and then so does the folder.
func (f *Fleet) Remove(ctx context.Context) error {
	if err := f.Stop(ctx); err != nil {
		return err
	}
	var failed []error
	for _, cluster := range f.Clusters() {
		failed = append(failed, cluster.clearData())
	}
	for _, name := range []string{"." + fileState, fileState} {
		if err := os.Remove(filepath.Join(f.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("removing the state: %w", err))
		}
	}
	if err := os.Remove(f.dir); err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
		failed = append(failed, fmt.Errorf("removing the fleet's folder: %w", err))
	}
	return errors.Join(failed...)
}

// vacant returns an error if a fleet runs in the folder.
func vacant(dir string) error {
	found, err := Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, cluster := range found.Clusters() {
		if cluster.Health() != Dead {
			return fmt.Errorf("a fleet runs in %q: its cluster %q is %s", dir, cluster.Name(), cluster.Health())
		}
	}
	return nil
}
