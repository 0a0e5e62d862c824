package operator

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// grace is how long running reconciliations may take when the process is told to
// end. With what comes before and after, it ends within 20 seconds.
const grace = 15 * time.Second

// retryPeriod is how often a lease is tried for. client-go waits up to 2.2 times as
// long, and a lease that was given back should have a holder within 3 seconds.
const retryPeriod = time.Second

// nowhere is the address that means not to serve.
const nowhere = "0"

// Options are what a process is started with.
type Options struct {
	// MetricsBindAddress and HealthProbeBindAddress are where metrics and probes
	// are served; "0" serves none.
	MetricsBindAddress, HealthProbeBindAddress string
	// MetricsSecure serves metrics by https, to whom the API server allows it.
	MetricsSecure bool
	// MetricsCertDir has tls.crt and tls.key for it, and may change at any time.
	// Empty: a self-signed certificate.
	MetricsCertDir string
	// Profiling serves /debug/pprof beside the metrics.
	Profiling bool
	// LeaderElect waits for the lease before doing anything.
	LeaderElect bool
	// Lease tunes leader election; zero values mean 15 s, 10 s and 1 s.
	Lease Lease
	// Verbosity is how much is logged at first, 0 to 10. See UseLogger.
	Verbosity int

	// Logger is where the process logs. The default is nowhere.
	Logger logr.Logger
	// Level changes what Logger logs. Nil: it cannot be changed.
	Level *Level
}

// Lease is how leadership is held.
type Lease struct {
	// Duration is how long a leader is believed in, RenewDeadline how long it
	// tries to renew before it gives up, RetryPeriod the time between attempts.
	Duration, RenewDeadline, RetryPeriod time.Duration
}

// Bind adds the flags. Whether to elect a leader by default is up to the process.
func (o *Options) Bind(flags *pflag.FlagSet, leaderElect bool) {
	flags.StringVar(&o.MetricsBindAddress, "metrics-bind-address", ":8443",
		"where metrics are served; 0 for nowhere")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", true,
		"serve metrics by https, to whom the API server allows it; false is for a loopback address")
	flags.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "",
		"folder of tls.crt and tls.key for metrics, read anew when they change; empty: a self-signed certificate")
	flags.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", ":8081",
		"where /healthz and /readyz are served; 0 for nowhere")
	flags.BoolVar(&o.LeaderElect, "leader-elect", leaderElect,
		"work only while holding the lease, so that several may run")
	flags.BoolVar(&o.Profiling, "profiling", false,
		"serve /debug/pprof beside the metrics, to whom the API server allows it")
	flags.IntVarP(&o.Verbosity, "v", "v", 0,
		"how much to log, 0 to 10: 0 what people must know, 1 what is done, 4 how; /debug/log-level changes it")
}

// Configure makes a manager follow the options. It leaves alone what they do not
// say, such as where the lease is.
func (o *Options) Configure(m *manager.Options) error {
	if err := o.checkCertificate(); err != nil {
		return err
	}
	m.Logger = o.Logger
	m.Metrics = o.metrics()
	m.HealthProbeBindAddress = o.HealthProbeBindAddress
	m.LeaderElection = o.LeaderElect
	m.LeaderElectionReleaseOnCancel = true
	m.LeaseDuration = unlessZero(o.Lease.Duration)
	m.RenewDeadline = unlessZero(o.Lease.RenewDeadline)
	m.RetryPeriod = new(cmp.Or(o.Lease.RetryPeriod, retryPeriod))
	m.GracefulShutdownTimeout = new(grace)
	return nil
}

// checkCertificate reads the certificate that was asked for, since the server takes
// another one where it is missing.
func (o *Options) checkCertificate() error {
	if o.MetricsCertDir == "" || !o.MetricsSecure || o.MetricsBindAddress == nowhere {
		return nil
	}
	_, err := tls.LoadX509KeyPair(filepath.Join(o.MetricsCertDir, "tls.crt"), filepath.Join(o.MetricsCertDir, "tls.key"))
	if err != nil {
		return fmt.Errorf("reading the certificate for metrics: %w", err)
	}
	return nil
}

func unlessZero(d time.Duration) *time.Duration {
	if d == 0 {
		return nil
	}
	return &d
}
