package manager

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/shopfleet/shopfleet/spoke/runtime/fencing"
)

// grace is the time limit for running reconciliations on shutdown. With what precedes and
// follows, the program ends within 20 seconds.
const grace = 15 * time.Second

const (
	// leaseDuration is the default of Options.LeaseDuration, the same as in client-go.
	leaseDuration = 15 * time.Second
	// retryPeriod is the period of renewals and of attempts to acquire the Lease. client-go
	// adds jitter of up to 1.2 times the period, and a released Lease should have a new holder
	// within 3 seconds.
	retryPeriod = time.Second
	// renewals is how often a leader renews a Lease that is too short for retryPeriod.
	renewals = 5
)

// nowhere is the address that disables a server.
const nowhere = "0"

// Options are the options that hub and spoke share.
type Options struct {
	// MetricsBindAddress and HealthProbeBindAddress are the addresses of metrics and
	// probes; "0" disables them.
	MetricsBindAddress, HealthProbeBindAddress string
	// MetricsSecure serves metrics over https, with authentication and authorization.
	MetricsSecure bool
	// MetricsCertDir is the directory of tls.crt and tls.key, which are reloaded when they
	// change. If empty, a self-signed certificate is used.
	MetricsCertDir string
	// Profiling serves /debug/pprof on the metrics server.
	Profiling bool
	// LeaderElect enables leader election.
	LeaderElect bool
	// LeaseDuration is how long the Lease is valid after its last renewal. The leader gives
	// up after two thirds of that time without a renewal. The leader renews the Lease every
	// second, or five times within a duration of less than 5 s. The default is 15 s, and API
	// servers round down to seconds, so the least is 1 s.
	LeaseDuration time.Duration
	// SafeMode makes the process observe and report, and write nothing else.
	SafeMode bool
	// Verbosity is the initial log verbosity, 0 to 10. See UseLogger.
	Verbosity int

	// Logger is used by the program. By default nothing is logged.
	Logger logr.Logger
	// Level is the verbosity of Logger. If nil, it cannot be changed.
	Level *Level
}

// Bind adds the flags. leaderElect is the default of --leader-elect.
func (o *Options) Bind(flags *pflag.FlagSet, leaderElect bool) {
	flags.StringVar(&o.MetricsBindAddress, "metrics-bind-address", ":8443",
		"address of the metrics server; 0 disables it")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", true,
		"serve metrics over https, with authentication and authorization; use false with loopback addresses only")
	flags.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "",
		"directory of tls.crt and tls.key for metrics, reloaded when they change (default: a self-signed certificate)")
	flags.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", ":8081",
		"address of /healthz and /readyz; 0 disables them")
	flags.BoolVar(&o.LeaderElect, "leader-elect", leaderElect,
		"enable leader election, so that several replicas may run")
	flags.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", leaseDuration,
		"how long standbys wait for a leader that does not renew its Lease")
	flags.BoolVar(&o.Profiling, "profiling", false,
		"serve /debug/pprof on the metrics server, to authorized clients")
	flags.BoolVar(&o.SafeMode, "safe-mode", false,
		"observe and report what would be written, as if everything were paused")
	flags.IntVarP(&o.Verbosity, "v", "v", 0,
		"log verbosity, 0 to 10: 0 important events, 1 actions, 4 details; /debug/log-level changes it at run time")
}

// Configure applies the options to a manager. It leaves other fields unchanged, such as
// the name of the Lease.
func (o *Options) Configure(m *manager.Options) error {
	if err := o.checkCertificate(); err != nil {
		return err
	}
	m.Logger = o.Logger
	m.Metrics = o.metrics()
	m.HealthProbeBindAddress = o.HealthProbeBindAddress
	m.LeaderElection = o.LeaderElect
	m.LeaderElectionReleaseOnCancel = true
	lease := cmp.Or(o.LeaseDuration, leaseDuration)
	m.LeaseDuration, m.RenewDeadline, m.RetryPeriod = &lease, new(renewDeadline(lease)), new(min(retryPeriod, lease/renewals))
	m.GracefulShutdownTimeout = new(grace)
	return nil
}

// renewDeadline returns the time without a renewal after which a leader gives up.
func renewDeadline(lease time.Duration) time.Duration { return lease * 2 / 3 }

// Fence returns the fence for all clients of a process that is configured with the options:
// nil, which blocks nothing, without leader election.
func (o *Options) Fence() *fencing.Fence {
	if !o.LeaderElect {
		return nil
	}
	return fencing.New(renewDeadline(cmp.Or(o.LeaseDuration, leaseDuration)), clock.RealClock{})
}

// checkCertificate loads the configured certificate, because the server falls back to a
// self-signed one if it is missing.
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
