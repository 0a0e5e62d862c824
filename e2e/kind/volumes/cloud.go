package volumes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/e2e/kind/clusters"
)

const (
	// DataFolder is the path at which each node has the data of all volumes and snapshots.
	DataFolder = "/var/lib/shopfleet-volumes"

	// ready is how long a snapshot takes to be complete.
	ready = 2 * time.Second
	// mostSkipped bounds how many IDs are skipped.
	mostSkipped = 1 << 20
	// copyTimeout bounds a copy, which goes on if its request ends.
	copyTimeout = 5 * time.Minute

	// emptyVolume creates the folder of a volume as its file system is after it was made.
	emptyVolume = `mkdir -p "$1" && mkdir -p -m 0700 "$1/lost+found"`
	// cloneData copies a folder, unless that was done. What was interrupted begins again.
	cloneData = `[ -e "$2" ] || { rm -rf "$2.partial"; cp -a "$1" "$2.partial"; mv "$2.partial" "$2"; }`
)

// errElsewhere means that a volume cannot be mounted in a node.
var errElsewhere = errors.New("the volume does not exist, is not attached, or is in another zone")

// Cloud is EC2 in memory, whose volumes and snapshots have data. It is safe for concurrent use.
type Cloud struct {
	key    ec2.Key
	memory *fake.Cloud
	api    *ec2.Server
	// copier is a cluster without volumes: data is copied in its node.
	copier *clusters.Cluster
	// logError is called with errors of requests, whose callers see the status 500 alone.
	logError func(error)

	// mu is held while data is copied.
	mu sync.Mutex
	// clusterOf has the cluster with the volumes of a region.
	clusterOf map[string]*clusters.Cluster
	// copied has the IDs of the snapshots that have their data.
	copied map[string]bool
}

// New returns a cloud without volumes that a key opens, and deletes the data that an earlier process has left. Data is copied
// in the node of copier.
func New(ctx context.Context, key ec2.Key, copier *clusters.Cluster, logError func(error)) (*Cloud, error) {
	memory := fake.NewCloud(clock.RealClock{})
	memory.SetPace(fake.Pace{Ready: ready})
	c := &Cloud{
		key: key, memory: memory,
		api:    ec2.New(memory, ec2.Options{Clock: clock.RealClock{}, Keys: []ec2.Key{key}, Limits: ec2.DefaultLimits()}),
		copier: copier, logError: logError, clusterOf: map[string]*clusters.Cluster{}, copied: map[string]bool{},
	}
	// A cluster that was kept may have volumes of that process: none gets its ID.
	for range rand.IntN(mostSkipped) {
		memory.Serial()
	}
	return c, c.Close(ctx)
}

// ServeHTTP serves EC2. The data of a snapshot is copied before the request for it is answered.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.api.ServeHTTP(&response{ResponseWriter: w, cloud: c, request: r}, r)
}

// response waits for the data of new snapshots before it is sent.
type response struct {
	http.ResponseWriter
	cloud   *Cloud
	request *http.Request
}

// WriteHeader implements http.ResponseWriter.
func (r *response) WriteHeader(status int) {
	if err := r.cloud.copyNew(r.request.Context()); err != nil {
		r.cloud.logError(err)
		status = http.StatusInternalServerError
	}
	r.ResponseWriter.WriteHeader(status)
}

// copyNew gives new snapshots their data, also if the client does not wait for it any more.
func (c *Cloud) copyNew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), copyTimeout)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.memory.Snapshots() {
		if c.copied[s.ID] {
			continue
		}
		if err := c.take(ctx, s); err != nil {
			return fmt.Errorf("copying the data of snapshot %q: %w", s.ID, err)
		}
		c.copied[s.ID] = true
	}
	return nil
}

// take copies the data of a snapshot from its source. That of a volume does not change meanwhile.
func (c *Cloud) take(ctx context.Context, s fake.Snapshot) error {
	cluster, runs := c.clusterOf[s.Region]
	if s.IsCopy || !runs {
		return c.clone(ctx, s.Source, s.ID)
	}
	// An attempt before this one may have failed to unpause it.
	paused, err := cluster.Paused(ctx)
	if err == nil && !paused {
		err = cluster.Pause(ctx)
	}
	if err != nil {
		return err
	}
	return errors.Join(c.clone(ctx, s.Source, s.ID), cluster.Unpause(ctx))
}

func (c *Cloud) clone(ctx context.Context, from, to string) error {
	_, err := c.copier.Exec(ctx, "sh", "-euc", cloneData, "sh", path.Join(DataFolder, from), path.Join(DataFolder, to))
	return err
}

// mountable returns the folder with the data of a volume that is attached in a zone. That of a new volume is empty, or the data
// of the snapshot that it was made from.
func (c *Cloud) mountable(ctx context.Context, id, zone string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), copyTimeout)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	v, exists := c.memory.Volume(id)
	if !exists || !v.Attached || v.Zone != zone {
		return "", fmt.Errorf("finding volume %q in zone %q: %w", id, zone, errElsewhere)
	}
	folder := path.Join(DataFolder, v.ID)
	if v.From != "" {
		return folder, c.clone(ctx, v.From, v.ID)
	}
	_, err := c.copier.Exec(ctx, "sh", "-euc", emptyVolume, "sh", folder)
	return folder, err
}

// Close deletes all data.
func (c *Cloud) Close(ctx context.Context) error {
	_, err := c.copier.Exec(ctx, "sh", "-euc", `rm -rf "$1"/*`, "sh", DataFolder)
	return err
}
