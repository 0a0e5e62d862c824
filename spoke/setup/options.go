package setup

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/spoke/controller"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/manager"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
	"github.com/shopfleet/shopfleet/spoke/runtime/watchtimeout"
)

// The rate limit of requests to the cluster, per second, and its burst.
const (
	qps   = 100
	burst = 200
)

// Options configure a spoke.
type Options struct {
	// Options are shared by hub and spoke.
	manager.Options

	// Kubeconfig is the path of the cluster's kubeconfig. The default is $KUBECONFIG, then
	// ~/.kube/config, then the ServiceAccount of the pod.
	Kubeconfig string
	// Namespace contains the Lease.
	Namespace string
	// Version is the version of the binary, for the user agent.
	Version string
	// RunbookURL is the page that the alerts of shops link to, each with # and its name.
	RunbookURL string

	// Config takes precedence over Kubeconfig. May be nil.
	Config *rest.Config
	// Registry registers the metrics; the default is the registry that is served.
	Registry prometheus.Registerer
	// Waits changes how long the reconcilers wait; the default leaves it as it is.
	Waits retry.Waits
	// Exec runs commands in containers; the default does so through the API server.
	Exec controller.Exec
}

// Bind adds the spoke's flags.
func (o *Options) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "",
		"path of the cluster's kubeconfig (default: $KUBECONFIG or ~/.kube/config, then the cluster that the spoke runs in)")
	flags.StringVar(&o.Namespace, "namespace", config.Namespace,
		"namespace of the Lease")
	flags.StringVar(&o.RunbookURL, "runbook-url", render.RunbookURL(o.Version),
		"page that the alerts of shops link to, each with # and its name")
	o.Options.Bind(flags, false)
}

// configOf returns the configuration for the cluster's API server.
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
	cfg.Wrap(watchtimeout.Wrap(watchtimeout.Silence))
	return cfg, nil
}
