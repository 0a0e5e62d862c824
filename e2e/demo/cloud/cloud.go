package cloud

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	drivers "github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi/driver"
)

const (
	// ready is how long a snapshot takes to be complete.
	ready = 3 * time.Second
	// readTimeout bounds reading a request.
	readTimeout = 10 * time.Second
	// installed has the hub see the driver of a provider whose volumes are those of the simulated nodes.
	installed = "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: %s}, spec: {attachRequired: false}}"
)

// errNoDriver means that a cluster waits for a storage driver that does not work here.
var errNoDriver = errors.New("the cloud has volumes for clusters on aws alone")

// Account returns the key that the cloud accepts. It opens nothing else.
func Account() ec2.Key {
	return ec2.Key{ID: "demo", Secret: "demo", Account: "123456789012", Name: "shopfleet"}
}

// Options configures Run.
type Options struct {
	// Fleet is the folder of the fleet.
	Fleet string
	// Address is the one to listen on. GET /readyz says that everything runs.
	Address string
	// File holds the path of the file that keeps the cloud for the next Run.
	File string
}

// Run simulates the cloud until ctx is done, or a part of it fails.
func Run(ctx context.Context, o Options) error {
	ctrl.SetLogger(klog.Background())
	f, err := fleet.Open(o.Fleet)
	if err != nil {
		return err
	}
	kept, err := openSaved(o.File)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	served := &front{api: ec2.New(kept.cloud, ec2.Options{Clock: clock.RealClock{}, Keys: []ec2.Key{Account()}, Limits: ec2.DefaultLimits()})}
	parts := []func(context.Context) error{kept.follow, func(ctx context.Context) error { return serve(ctx, listener, served) }}
	for _, c := range f.Clusters() {
		if !c.Spec().Driverless {
			if err := install(ctx, c); err != nil {
				return err
			}
			continue
		}
		disks, err := driverOf(c.Spec(), kept.cloud, served.api)
		if err != nil {
			return err
		}
		served.starting.Add(1)
		parts = append(parts, func(ctx context.Context) error { return play(ctx, c, disks, &served.starting) })
	}
	// The last volumes may be made while the parts end.
	return errors.Join(all(ctx, parts), kept.save())
}

// install registers the driver of its provider in a cluster that has other volumes.
func install(ctx context.Context, c *fleet.Cluster) error {
	name, has := map[fleet.Provider]string{
		fleet.AWS: drivers.DriverEBS, fleet.GCP: drivers.DriverPD, fleet.Azure: drivers.DriverAzureDisk,
	}[c.Spec().Provider]
	if !has {
		return nil
	}
	return c.Apply(ctx, fmt.Appendf(nil, installed, name))
}

// driverOf returns the driver of a cluster whose volumes are in the cloud.
func driverOf(spec fleet.ClusterSpec, kept *fake.Cloud, server *ec2.Server) (driver.Options, error) {
	if spec.Provider != fleet.AWS {
		return driver.Options{}, fmt.Errorf("%w, and cluster %q is on %q", errNoDriver, spec.Name, spec.Provider)
	}
	account := Account().Account
	return driver.Options{
		Driver: csi.EBS(kept, server, account), Cloud: driver.EBS{Account: account, Region: spec.Region}, Zones: spec.Zones,
	}, nil
}

// play lets a driver and its controllers work in a cluster until ctx is done. It counts starting down when they do.
func play(ctx context.Context, c *fleet.Cluster, disks driver.Options, starting *atomic.Int32) error {
	playing, err := driver.Play(ctx, driver.Of(c), disks, os.Stderr)
	if err != nil {
		return fmt.Errorf("starting the storage driver of %q: %w", c.Name(), err)
	}
	starting.Add(-1)
	return playing.Run(ctx)
}

// all runs parts until the context ends or one of them does, which ends the others.
func all(ctx context.Context, parts []func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(parts))
	for _, part := range parts {
		go func() { ended <- part(ctx) }()
	}
	failed := make([]error, 0, len(parts))
	for range parts {
		failed = append(failed, <-ended)
		cancel()
	}
	return errors.Join(failed...)
}

// front serves the API, and GET /readyz.
type front struct {
	api *ec2.Server
	// starting counts the drivers that do not work yet.
	starting atomic.Int32
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/readyz":
		f.api.ServeHTTP(w, r)
	case f.starting.Load() > 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// serve serves until ctx is done.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadTimeout: readTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
