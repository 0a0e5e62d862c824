package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/filelock"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

// stopTimeout bounds what Stop and failed starts take to clean up.
const stopTimeout = 30 * time.Second

// Fleet is a hub and its members.
type Fleet struct {
	dir      string
	hub      *Cluster
	members  []*Cluster
	guard    *process.Guard
	programs binaries.Dir

	// saving guards the state file and complete.
	saving   sync.Mutex
	complete bool
}

// Start provides the programs (see package binaries), starts all clusters at the same
// time, after those of another fleet that starts, and returns when each accepts pods. The fleet ends with Stop, or with
// the calling process. The context bounds the start only. After an error nothing runs; the error shows the
// end of the log of what failed.
func Start(ctx context.Context, options Options) (*Fleet, error) {
	return start(ctx, options, true)
}

// Up starts a fleet that goes on when the calling process ends, and that Open
// finds again. It needs a folder.
func Up(ctx context.Context, options Options) (*Fleet, error) {
	if options.Dir == "" {
		return nil, errors.New("a fleet that stays needs a folder")
	}
	return start(ctx, options, false)
}

func start(ctx context.Context, options Options, tied bool) (*Fleet, error) {
	specs, err := options.specs()
	if err != nil {
		return nil, err
	}
	progress := options.Progress
	if progress == nil {
		progress = io.Discard
	}
	programs, err := binaries.Ensure(ctx, progress)
	if err != nil {
		return nil, err
	}
	process.RaiseLimits()
	f := &Fleet{programs: programs}
	if err := f.prepareDir(options.Dir); err != nil {
		return nil, err
	}
	for i, spec := range specs {
		cluster := f.newCluster(spec, tied)
		if i == 0 && options.Hub.Name != "" {
			f.hub = cluster
		} else {
			f.members = append(f.members, cluster)
		}
	}
	if err := f.startInTurn(ctx, progress); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, f.Stop(cleanup))
	}
	return f, f.save()
}

// prepareDir creates the data folder. A temporary one gets a guard.
func (f *Fleet) prepareDir(dir string) error {
	if dir != "" {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return fmt.Errorf("resolving the data folder: %w", err)
		}
		f.dir = absolute
		if err := vacant(f.dir); err != nil {
			return err
		}
		if err := os.MkdirAll(f.dir, privateFolder); err != nil {
			return fmt.Errorf("creating the data folder: %w", err)
		}
		return nil
	}
	temporary, err := os.MkdirTemp("", "shopfleet-")
	if err != nil {
		return fmt.Errorf("creating the data folder: %w", err)
	}
	f.dir = temporary
	f.guard, err = process.NewGuard(temporary)
	if err != nil {
		return errors.Join(err, os.RemoveAll(temporary))
	}
	return nil
}

func (f *Fleet) newCluster(spec ClusterSpec, tied bool) *Cluster {
	return &Cluster{
		spec:      spec,
		dir:       filepath.Join(f.dir, spec.Name),
		programs:  f.programs,
		tied:      tied,
		changed:   f.save,
		processes: map[Component]process.ID{},
	}
}

// startInTurn starts the clusters while no other process of the user starts a fleet: many that start at a time take a
// machine longer than one after the other, and the tests of those that are up meet their limits.
func (f *Fleet) startInTurn(ctx context.Context, progress io.Writer) error {
	lock, err := filelock.Acquire(ctx, f.programs.Path(".starting"), func() {
		_, _ = fmt.Fprintln(progress, "waiting for another fleet that starts")
	})
	if err != nil {
		return err
	}
	return errors.Join(f.startAll(ctx, progress), lock.Release())
}

func (f *Fleet) startAll(ctx context.Context, progress io.Writer) error {
	clusters := f.Clusters()
	failed := make([]error, len(clusters))
	// The first failure ends the other starts: their outcome no longer matters.
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	var printing sync.Mutex
	begun := time.Now()
	for i, cluster := range clusters {
		group.Go(func() {
			if failed[i] = cluster.start(starting); failed[i] != nil {
				cancel()
				return
			}
			printing.Lock()
			defer printing.Unlock()
			_, _ = fmt.Fprintf(progress, "cluster %s is up after %.1f s\n", cluster.Name(), time.Since(begun).Seconds())
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("starting the fleet: %w", context.Cause(ctx))
	}
	failed = slices.DeleteFunc(failed, func(err error) bool { return errors.Is(err, context.Canceled) })
	f.saving.Lock()
	defer f.saving.Unlock()
	f.complete = errors.Join(failed...) == nil
	return errors.Join(failed...)
}

// Add starts one more member. The context bounds the start only. After an error nothing
// of it is left.
func (f *Fleet) Add(ctx context.Context, spec ClusterSpec) error {
	all := Options{Members: []ClusterSpec{spec}}
	for _, cluster := range f.Clusters() {
		all.Members = append(all.Members, cluster.Spec())
	}
	specs, err := all.specs()
	if err != nil {
		return err
	}
	// A member at once, so that its processes are known should this one end meanwhile.
	added := f.newCluster(specs[0], false)
	f.members = append(f.members, added)
	if err := added.start(ctx); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		f.members = f.members[:len(f.members)-1]
		return errors.Join(err, added.Kill(cleanup), added.clearData())
	}
	return nil
}

// Hub returns the hub of the fleet, or nil if there is none.
func (f *Fleet) Hub() *Cluster { return f.hub }

// Member returns the member of this name, or nil.
func (f *Fleet) Member(name string) *Cluster {
	for _, cluster := range f.members {
		if cluster.Name() == name {
			return cluster
		}
	}
	return nil
}

// Clusters returns all clusters, the hub first.
func (f *Fleet) Clusters() []*Cluster {
	if f.hub == nil {
		return append([]*Cluster(nil), f.members...)
	}
	return append([]*Cluster{f.hub}, f.members...)
}

// Dir returns the folder with the data of all clusters.
func (f *Fleet) Dir() string { return f.dir }

// Stop ends all processes and removes a temporary folder. It may be called again.
func (f *Fleet) Stop(ctx context.Context) error {
	clusters := f.Clusters()
	failed := make([]error, len(clusters))
	var group sync.WaitGroup
	for i, cluster := range clusters {
		group.Go(func() { failed[i] = cluster.Kill(ctx) })
	}
	group.Wait()
	if f.guard != nil {
		guard := f.guard
		f.guard = nil
		failed = append(failed, guard.Release())
	}
	return errors.Join(failed...)
}
