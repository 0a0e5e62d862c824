package setup

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/shopfleet/shopfleet/config"
)

// Options are what a hub is started with.
type Options struct {
	// Kubeconfig is the path of the hub's own kubeconfig. Empty: the cluster that
	// the process runs in, else the usual places.
	Kubeconfig string
	// Namespace is where the registration Secrets and the lease are.
	Namespace string
	// MetricsBindAddress and HealthProbeBindAddress are where metrics and probes
	// are served; "0" serves none.
	MetricsBindAddress, HealthProbeBindAddress string
	// LeaderElect waits for the lease before doing anything.
	LeaderElect bool
	// Verbosity is how much is logged: 0 what people must know, 1 what is done,
	// 4 and more how.
	Verbosity int
	// Version is that of the binary, for the user agent.
	Version string

	// Logger is where Run logs. The default is nowhere.
	Logger logr.Logger
	// Lease tunes leader election; zero values mean 15 s, 10 s and 2 s.
	Lease Lease
}

// Lease is how leadership is held.
type Lease struct {
	// Duration is how long a leader is believed in, RenewDeadline how long it
	// tries to renew before it gives up, RetryPeriod the time between attempts.
	Duration, RenewDeadline, RetryPeriod time.Duration
}

// Bind adds the hub's flags.
func (o *Options) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "",
		"path of the hub's kubeconfig; empty: the cluster that this runs in, else $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&o.Namespace, "namespace", config.Namespace,
		"namespace of the registration Secrets and of the lease")
	flags.StringVar(&o.MetricsBindAddress, "metrics-bind-address", ":8080",
		"where metrics are served; 0 for nowhere")
	flags.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", ":8081",
		"where /healthz and /readyz are served; 0 for nowhere")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true,
		"work only while holding the lease, so that several may run")
	flags.IntVarP(&o.Verbosity, "v", "v", 0,
		"how much to log: 0 what people must know, 1 what is done, 4 how")
}

// useLogger makes the logger of the process, and gives it to the libraries too.
func (o *Options) useLogger(w io.Writer) {
	o.Logger = newLogger(w, o.Verbosity)
	ctrl.SetLogger(o.Logger)
	klog.SetLogger(o.Logger.WithName("klog"))
}

func newLogger(w io.Writer, verbosity int) logr.Logger {
	return logr.FromSlogHandler(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.Level(-verbosity), ReplaceAttr: nameLevel,
	}))
}

// nameLevel writes levels as the flag counts them: what -v 1 adds has the level V1.
func nameLevel(_ []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && level < slog.LevelInfo {
		a.Value = slog.StringValue(fmt.Sprintf("V%d", -level))
	}
	return a
}

// restConfig finds the hub's API server. Requests are limited by the server's
// fairness, not here.
func (o *Options) restConfig() (*rest.Config, error) {
	c, err := o.findConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the hub's API server: %w", err)
	}
	c.QPS = -1
	c.UserAgent = "shopfleet-hub/" + o.Version
	return c, nil
}

func (o *Options) findConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	if o.Kubeconfig == "" {
		if c, err := rest.InClusterConfig(); err == nil {
			return c, nil
		}
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}
