package setup

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/spoke/operator"
)

// Requests a second to the cluster, and at once.
const (
	qps   = 100
	burst = 200
)

// Options are what a spoke is started with.
type Options struct {
	// Options are those that every process of ours has.
	operator.Options

	// Kubeconfig is the path of the cluster's kubeconfig. Empty: KUBECONFIG, the
	// usual file at home, or the ServiceAccount of the pod.
	Kubeconfig string
	// Namespace is where the lease is.
	Namespace string
	// Version is that of the binary, for the user agent.
	Version string

	// Config is used instead of Kubeconfig when it is given.
	Config *rest.Config
	// Registry is where metrics are registered; nil is the one that is served.
	Registry prometheus.Registerer
	// RetryAfter and Resync override the periods of package controller; 0 keeps them.
	RetryAfter, Resync time.Duration
}

// Bind adds the spoke's flags.
func (o *Options) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "",
		"path of the cluster's kubeconfig; empty: $KUBECONFIG or ~/.kube/config, else the cluster that this runs in")
	flags.StringVar(&o.Namespace, "namespace", config.Namespace,
		"namespace of the lease")
	o.Options.Bind(flags, false)
}

// configOf returns how to reach the cluster.
func configOf(o Options) (*rest.Config, error) {
	cfg := o.Config
	if cfg == nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = o.Kubeconfig
		loaded, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("loading the kubeconfig: %w", err)
		}
		cfg = loaded
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = qps, burst
	cfg.UserAgent = "shopfleet-spoke/" + o.Version
	return cfg, nil
}
