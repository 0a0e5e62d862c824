package setup

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/spoke/controller"
)

// Requests a second to the cluster, and at once.
const (
	qps   = 100
	burst = 200
)

// leaseName is the Lease that replicas of the spoke elect their leader by.
const leaseName = "shopfleet-spoke.ecommerce.io"

// shutdown is how long running reconciliations may take when the spoke is stopped.
const shutdown = 20 * time.Second

// Options are what a spoke is started with.
type Options struct {
	// Kubeconfig is the path of the cluster's kubeconfig. Empty: KUBECONFIG, the
	// usual file at home, or the ServiceAccount of the pod.
	Kubeconfig string
	// MetricsBindAddress and HealthProbeBindAddress are host:port; 0 serves nothing.
	MetricsBindAddress     string
	HealthProbeBindAddress string
	// LeaderElect lets one of several replicas work at a time, by a Lease in
	// LeaderElectionNamespace; empty is the namespace of the pod.
	LeaderElect             bool
	LeaderElectionNamespace string
	// Logger receives everything. See NewLogger.
	Logger logr.Logger

	// Config is used instead of Kubeconfig when it is given.
	Config *rest.Config
	// Registry is where metrics are registered; nil is the one that is served.
	Registry prometheus.Registerer
	// RetryAfter and Resync override the periods of package controller; 0 keeps them.
	RetryAfter, Resync time.Duration
}

// Scheme returns the kinds that a spoke knows.
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

// NewLogger returns a logger that writes JSON lines up to a verbosity: 0 is what
// an operator of clusters wants to read, more is for developers. The libraries
// below log through globals, and from then on to this logger: a process calls
// this once, before anything else runs.
func NewLogger(out io.Writer, verbosity int) logr.Logger {
	logger := logr.FromSlogHandler(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.Level(-verbosity)}))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return logger
}

// Run runs a spoke until the context ends, and returns nil then. An error tells
// that it could not start, or lost its lease.
func Run(ctx context.Context, o Options) error {
	config, err := configOf(o)
	if err != nil {
		return err
	}
	kinds := []controller.Runner{controller.EcommerceApp(), controller.WebApp(), controller.MySQLCluster()}
	mgr, err := newManager(config, o, kinds)
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
	engager := controller.NewEngager(controller.Options{
		Kinds:      kinds,
		Metrics:    counted,
		Logger:     o.Logger,
		RetryAfter: o.RetryAfter,
		Resync:     o.Resync,
	})
	if err := engager.Engage(ctx, mcmanager.LocalCluster, mgr); err != nil {
		return fmt.Errorf("engaging the cluster: %w", err)
	}
	if err := mgr.Add(engager); err != nil {
		return fmt.Errorf("adding the controllers: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the spoke: %w", err)
	}
	return nil
}

func newManager(config *rest.Config, o Options, kinds []controller.Runner) (ctrl.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	grace := shutdown
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        o.Logger,
		Cache:                         controller.CacheOptions(kinds...),
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsBindAddress},
		HealthProbeBindAddress:        o.HealthProbeBindAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       o.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &grace,
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the liveness probe: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the readiness probe: %w", err)
	}
	return mgr, nil
}

// configOf returns how to reach the cluster.
func configOf(o Options) (*rest.Config, error) {
	config := o.Config
	if config == nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = o.Kubeconfig
		loaded, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("loading the kubeconfig: %w", err)
		}
		config = loaded
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = qps, burst
	config.UserAgent = "shopfleet-spoke"
	return config, nil
}
