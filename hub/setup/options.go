package setup

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/spoke/operator"
)

// Options are what a hub is started with.
type Options struct {
	// Options are those that every process of ours has.
	operator.Options

	// Kubeconfig is the path of the hub's own kubeconfig. Empty: the cluster that
	// the process runs in, else the usual places.
	Kubeconfig string
	// Namespace is where the registration Secrets and the lease are.
	Namespace string
	// Version is that of the binary, for the user agent.
	Version string
	// SpokeImage is the whole reference of the spoke's image, for the Jobs that move dumps
	// in members. Empty: dumps are neither sent to buckets nor fetched from there.
	SpokeImage string
	// Clouds says how to connect to each provider, and Buckets to its buckets. Only the
	// binary knows the providers, so that nothing else is built with their SDKs.
	Clouds  cloud.Registry
	Buckets cloud.Buckets
}

// Bind adds the hub's flags.
func (o *Options) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "",
		"path of the hub's kubeconfig; empty: the cluster that this runs in, else $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&o.Namespace, "namespace", config.Namespace,
		"namespace of the registration Secrets and of the lease")
	flags.StringVar(&o.SpokeImage, "spoke-image", "",
		"image of the spoke, for the Jobs that move dumps between members and buckets; empty: dumps are not moved")
	o.Options.Bind(flags, true)
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
