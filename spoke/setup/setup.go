package setup

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/spoke/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/manager"
)

// Scheme returns a scheme with the kinds that the spoke uses.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1.AddToScheme, webappv1.AddToScheme, mysqlv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// Main runs the spoke as a process until ctx is done. It returns an error if the spoke
// could not start, or lost its Lease.
func Main(ctx context.Context, o Options) error {
	if err := o.UseLogger(os.Stderr); err != nil {
		return err
	}
	return Run(ctx, o)
}

// Run runs a spoke until ctx is done, and then returns nil. It returns an error if the
// spoke could not start, or lost its Lease.
func Run(ctx context.Context, o Options) error {
	cfg, err := configOf(o)
	if err != nil {
		return err
	}
	cfg.Wrap(o.Fence().Wrap)
	reportVersion(ctx, cfg, o.Logger)
	kinds := []controller.AnyKind{controller.EcommerceApp(), controller.WebApp(), controller.MySQLCluster()}
	mgr, err := newManager(ctx, cfg, o, kinds)
	if err != nil {
		return err
	}
	registry := o.Registry
	if registry == nil {
		registry = metrics.Registry
	}
	counted, err := controller.NewMetrics(registry)
	if err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	if err := o.ReportSafeMode(registry); err != nil {
		return err
	}
	runner := controller.NewClusterRunner(controller.Options{
		Paused:     func(string) bool { return o.SafeMode },
		Kinds:      kinds,
		Metrics:    counted,
		Logger:     o.Logger,
		Waits:      o.Waits,
		Exec:       o.Exec,
		RunbookURL: o.RunbookURL,
	})
	if err := runner.Engage(ctx, mcmanager.LocalCluster, mgr); err != nil {
		return fmt.Errorf("starting the reconcilers: %w", err)
	}
	if err := mgr.Add(runner); err != nil {
		return fmt.Errorf("adding the controllers: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the spoke: %w", err)
	}
	return nil
}

func newManager(ctx context.Context, cfg *rest.Config, o Options, kinds []controller.AnyKind) (ctrl.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		Scheme:                  scheme,
		Cache:                   controller.CacheOptions(kinds...),
		LeaderElectionID:        config.SpokeLease,
		LeaderElectionNamespace: o.Namespace,
		LeaderElectionLabels:    v1.VersionLabels(o.Version),
	}
	if err := o.Configure(&options); err != nil {
		return nil, fmt.Errorf("configuring the manager: %w", err)
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	return mgr, manager.AddProbes(ctx, mgr)
}
