package setup

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/runtime/manager"
	"github.com/shopfleet/shopfleet/spoke/runtime/watchtimeout/watchtimeouttest"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	parse := func(args ...string) Options {
		o := Options{Version: "v1.2.3"}
		flags := pflag.NewFlagSet("hub", pflag.ContinueOnError)
		o.Bind(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		return o
	}
	want := Options{Namespace: "shopfleet-system", Version: "v1.2.3", RunbookURL: "https://github.com/shopfleet/shopfleet/blob/v1.2.3/hub/RUNBOOK.md", Limits: members.Limits{Copies: 200, Children: 500, Reads: 500}, Options: manager.Options{
		MetricsBindAddress: ":8443", MetricsSecure: true, HealthProbeBindAddress: ":8081", LeaderElect: true,
		LeaseDuration: 15 * time.Second,
	}}
	if diff := cmp.Diff(want, parse(), cmp.AllowUnexported(want.Logger)); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	want = Options{Kubeconfig: "k", Namespace: "n", Version: "v1.2.3", RunbookURL: "https://wiki/alerts", SpokeImage: "r/spoke:v1", Limits: members.Limits{Copies: 1, Children: 2, Reads: 3}, Options: manager.Options{
		MetricsBindAddress: "0", HealthProbeBindAddress: "0", LeaseDuration: 15 * time.Second, Verbosity: 4, SafeMode: true,
	}}
	got := parse("--kubeconfig", "k", "--namespace=n", "--spoke-image=r/spoke:v1", "--metrics-bind-address=0", "--metrics-secure=false",
		"--health-probe-bind-address=0", "--leader-elect=false", "-v", "4", "--safe-mode", "--runbook-url=https://wiki/alerts",
		"--member-copies-qps=1", "--member-children-qps=2", "--member-reads-qps=3")
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(want.Logger)); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

// kubeconfigFile returns the path of a kubeconfig without credentials.
func kubeconfigFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(`{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWrap checks which clients are wrapped: a crash that spared the client of the Lease would
// be none.
func TestWrap(t *testing.T) {
	t.Parallel()
	wrapped := 0
	o := &Options{Kubeconfig: kubeconfigFile(t), Namespace: "n", Wrap: func(next http.RoundTripper) http.RoundTripper {
		wrapped++
		return next
	}}
	o.MetricsBindAddress = "0"
	cfg, err := o.restConfig()
	if err != nil {
		t.Fatal(err)
	}
	options, err := o.managerOptions(cfg, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if wrapped == 0 {
		t.Error("the hub's own client is not wrapped")
	}
	if options.LeaderElectionConfig.WrapTransport == nil {
		t.Error("the client of the Lease is not wrapped")
	}
}

// TestTheCacheHoldsNoOtherSecrets checks what a hub that is broken into could leak.
func TestTheCacheHoldsNoOtherSecrets(t *testing.T) {
	t.Parallel()
	options, err := (&Options{Namespace: "n"}).cacheOptions()
	if err != nil {
		t.Fatal(err)
	}
	for object, limits := range options.ByObject {
		if _, ok := object.(*corev1.Secret); !ok {
			continue
		}
		if _, ok := limits.Namespaces["n"]; !ok || len(limits.Namespaces) != 1 {
			t.Errorf("Secrets of namespaces %v are held", limits.Namespaces)
		}
		if limits.Label.Matches(labels.Set{}) || !limits.Label.Matches(labels.Set{v1.MemberClusterLabel: "false"}) {
			t.Errorf("Secrets that match %q are held, want those with the label alone", limits.Label)
		}
		return
	}
	t.Error("Secrets are not limited")
}

// TestSilentWatchesEnd lets a watch of the process's own API server be silent.
func TestSilentWatchesEnd(t *testing.T) {
	t.Parallel()
	cfg, err := (&Options{Kubeconfig: kubeconfigFile(t)}).restConfig()
	if err != nil {
		t.Fatal(err)
	}
	watchtimeouttest.SilentWatchEnds(t, cfg)
}
