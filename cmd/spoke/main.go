package main

import (
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/shopfleet/shopfleet/spoke/setup"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "spoke:", err)
		os.Exit(1)
	}
}

func run() error {
	var o setup.Options
	flags := flag.NewFlagSet("spoke", flag.ExitOnError)
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "path of the cluster's kubeconfig; in a pod, its ServiceAccount is the default")
	flags.StringVar(&o.MetricsBindAddress, "metrics-bind-address", ":8080", "where metrics are served; 0 serves none")
	flags.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", ":8081", "where /healthz and /readyz are served; 0 serves none")
	flags.BoolVar(&o.LeaderElect, "leader-elect", false, "let one of several replicas work at a time")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "", "namespace of the lease; that of the pod is the default")
	verbosity := flags.Int("v", 0, "how much to log: 0 for operators, more for developers")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	o.Logger = setup.NewLogger(os.Stderr, *verbosity)
	return setup.Run(ctrl.SetupSignalHandler(), o)
}
