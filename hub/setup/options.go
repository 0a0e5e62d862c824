package setup

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/hub/members"
	spoke "github.com/shopfleet/shopfleet/spoke/controller"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/manager"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
	"github.com/shopfleet/shopfleet/spoke/runtime/watchtimeout"
)

// Options configure a hub.
type Options struct {
	// Options are shared by hub and spoke.
	manager.Options

	// Kubeconfig is the path of the hub's kubeconfig. The default is the cluster that the
	// process runs in, then $KUBECONFIG or ~/.kube/config.
	Kubeconfig string
	// Namespace contains the registration Secrets and the Lease.
	Namespace string
	// Version is the version of the binary, for the user agent.
	Version string
	// RunbookURL is the page that the alerts of shops link to, each with # and its name.
	RunbookURL string
	// SpokeImage is the full reference of the spoke's image, for the Jobs that upload and
	// download dumps in members. If empty, dumps are not transferred.
	SpokeImage string
	// Clouds has a constructor of sessions for each provider, and Buckets of buckets. The
	// binary sets them, so that this package does not depend on the providers' SDKs.
	Clouds  cloud.Registry
	Buckets cloud.Buckets
	// Waits changes how long the hub waits before it looks again at what no watch
	// reports. It is not a flag: the default is right for every fleet, and tests in
	// process shorten it.
	Waits retry.Waits
	// Resync is the period after which the hub checks all copies of a member; 0 is the default. It is no
	// flag: tests show that nothing depends on it.
	Resync time.Duration
	// Templates replace the pod templates of this build; nil leaves them. It is no flag: tests upgrade to a build with
	// others.
	Templates *spoke.Templates
	// ProgressPeriod is the minimum time between writes of mere progress to the status of an
	// application, while few make progress. Timeouts bound the requests to members;
	// Timeouts.Watch also bounds the silence of the hub's own watches. They are no flags either;
	// zero values have defaults.
	ProgressPeriod time.Duration
	Timeouts       members.Timeouts
	// Limits limit the requests to each member.
	Limits members.Limits
	// Clock is the clock of the controllers of Backups and Restores; the default is the real one.
	// It is no flag: tests let time pass in which a cloud may not show what it has made.
	Clock clock.Clock
	// Registry registers the metrics; the default is the registry that is served. It is no flag:
	// tests run several hubs in one process at a time.
	Registry prometheus.Registerer
	// Wrap wraps the transports of all clients of the hub: to its own API server, including the
	// client of its Lease, and to members. It sees each request as it is sent, retries included.
	// It is no flag: tests inject faults with it, for example a crash, after which not even the
	// Lease is renewed or released. By default nothing is wrapped.
	Wrap transport.WrapperFunc
}

// Bind adds the hub's flags.
func (o *Options) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "",
		"path of the hub's kubeconfig (default: the cluster that the hub runs in, then $KUBECONFIG or ~/.kube/config)")
	flags.StringVar(&o.Namespace, "namespace", config.Namespace,
		"namespace of the registration Secrets and of the Lease")
	flags.StringVar(&o.SpokeImage, "spoke-image", "",
		"image of the spoke, for the Jobs that transfer dumps between members and buckets; if empty, dumps are not transferred")
	flags.StringVar(&o.RunbookURL, "runbook-url", render.RunbookURL(o.Version),
		"page that the alerts of shops link to, each with # and its name")
	standard := members.Limits{}.WithDefaults()
	flags.IntVar(&o.Limits.Copies, "member-copies-qps", standard.Copies,
		"writes of copies per second to one member, with bursts of four seconds")
	flags.IntVar(&o.Limits.Children, "member-children-qps", standard.Children,
		"other writes per second to one member, with bursts of four seconds; nearly all are of the children of copies")
	flags.IntVar(&o.Limits.Reads, "member-reads-qps", standard.Reads,
		"reads, lists and watches per second to one member, with bursts of four seconds")
	o.Options.Bind(flags, true)
}

// restConfig returns the configuration for the hub's API server. There is no client-side
// rate limit: API priority and fairness applies.
func (o *Options) restConfig() (*rest.Config, error) {
	c, err := o.findConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the hub's API server: %w", err)
	}
	c.QPS = -1
	c.UserAgent = "shopfleet-hub/" + o.Version
	c.Wrap(watchtimeout.Wrap(o.Timeouts.WithDefaults().Watch))
	c.Wrap(o.Wrap)
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

// rendering returns the version of the pod templates; empty for that of this build.
func (o *Options) rendering() string {
	if o.Templates == nil {
		return ""
	}
	return o.Templates.Version
}
