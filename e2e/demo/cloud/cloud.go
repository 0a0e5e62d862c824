package cloud

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/arm"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi"
)

const (
	// ready is how long a snapshot takes to be complete.
	ready = 3 * time.Second
	// readTimeout bounds reading a request.
	readTimeout = 10 * time.Second
	// account names the project of Google's disks, and the subscription and resource group of Azure's.
	account = "demo"
)

// errNoDriver means that no storage driver is simulated for a provider.
var errNoDriver = errors.New("no storage driver is simulated for the provider")

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
	server := ec2.New(kept.cloud, ec2.Options{Clock: clock.RealClock{}, Keys: []ec2.Key{Account()}, Limits: ec2.DefaultLimits()})
	parts := []func(context.Context) error{kept.follow}
	for _, c := range f.Clusters() {
		if !c.Spec().Driverless {
			continue
		}
		driver, err := driverOf(c.Spec(), kept.cloud, server)
		if err != nil {
			return err
		}
		standIn, err := csi.New(ctx, c.AdminConfig(), driver)
		if err != nil {
			return fmt.Errorf("installing the storage driver in %q: %w", c.Name(), err)
		}
		parts = append(parts, standIn.Run)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	parts = append(parts, func(ctx context.Context) error { return serve(ctx, listener, server) })
	return all(ctx, parts)
}

// driverOf returns the driver that a cluster of the provider has. Only Amazon's API is served: the
// disks of the other providers are in the same cloud, for their drivers alone.
func driverOf(spec fleet.ClusterSpec, kept *fake.Cloud, server *ec2.Server) (csi.Driver, error) {
	switch spec.Provider {
	case fleet.AWS:
		return csi.EBS(kept, server, Account().Account), nil
	case fleet.GCP:
		return csi.PD(kept, gce.New(kept, gce.Options{Clock: clock.RealClock{}}), account), nil
	case fleet.Azure:
		disks := arm.New(kept, arm.Options{Clock: clock.RealClock{}})
		return csi.AzureDisk(kept, disks, arm.Disk{Subscription: account, Group: account, Region: spec.Region}), nil
	default:
		return csi.Driver{}, fmt.Errorf("%w %q of cluster %q", errNoDriver, spec.Provider, spec.Name)
	}
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

// serve serves until ctx is done.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	paths := http.NewServeMux()
	paths.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	paths.Handle("/", handler)
	server := &http.Server{Handler: paths, ReadTimeout: readTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
