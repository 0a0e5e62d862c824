package setup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/shopfleet/shopfleet/spoke/runtime/manager"
	"github.com/shopfleet/shopfleet/spoke/runtime/watchtimeout/watchtimeouttest"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	parse := func(args ...string) Options {
		o := Options{Version: "v1.2.3"}
		flags := pflag.NewFlagSet("spoke", pflag.ContinueOnError)
		o.Bind(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		return o
	}
	want := Options{Namespace: "shopfleet-system", Version: "v1.2.3", RunbookURL: "https://github.com/shopfleet/shopfleet/blob/v1.2.3/hub/RUNBOOK.md", Options: manager.Options{
		MetricsBindAddress: ":8443", MetricsSecure: true, HealthProbeBindAddress: ":8081", LeaseDuration: 15 * time.Second,
	}}
	if diff := cmp.Diff(want, parse(), cmp.AllowUnexported(want.Logger)); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	want = Options{Kubeconfig: "k", Namespace: "n", Version: "v1.2.3", RunbookURL: "https://wiki/alerts", Options: manager.Options{
		MetricsBindAddress: "0", MetricsSecure: true, MetricsCertDir: "c", HealthProbeBindAddress: "0",
		LeaderElect: true, LeaseDuration: 6 * time.Second, Profiling: true, Verbosity: 4, SafeMode: true,
	}}
	got := parse("--kubeconfig=k", "--namespace=n", "--metrics-bind-address=0", "--metrics-cert-dir=c",
		"--health-probe-bind-address=0", "--leader-elect", "--leader-elect-lease-duration=6s", "--profiling", "--v=4", "--safe-mode", "--runbook-url=https://wiki/alerts")
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(want.Logger)); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

// TestSilentWatchesEnd lets a watch of the process's own API server be silent.
func TestSilentWatchesEnd(t *testing.T) {
	t.Parallel()
	cfg, err := configOf(Options{Config: &rest.Config{Host: "https://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	watchtimeouttest.SilentWatchEnds(t, cfg)
}
