package manager

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const metricsPath = "/metrics"

// metrics returns the options of the metrics server.
func (o *Options) metrics() metricsserver.Options {
	served := metricsserver.Options{
		BindAddress:    o.MetricsBindAddress,
		SecureServing:  o.MetricsSecure,
		CertDir:        o.MetricsCertDir,
		FilterProvider: o.filter,
	}
	if o.MetricsSecure || isLoopback(o.MetricsBindAddress) {
		served.ExtraHandlers = o.debugHandlers()
		return served
	}
	if o.MetricsBindAddress != nowhere {
		o.Logger.Info("WARNING: metrics are served without encryption and authentication, and debugging endpoints are disabled;  "+
			"use --metrics-secure, or a loopback address", "address", o.MetricsBindAddress)
	}
	return served
}

// ReportSafeMode registers the metric shopfleet_safe_mode, and logs that the safe mode is on.
func (o *Options) ReportSafeMode(registry prometheus.Registerer) error {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "shopfleet_safe_mode", Help: "1 if the process runs in safe mode and only observes, else 0.",
	})
	if o.SafeMode {
		gauge.Set(1)
		o.Logger.Info("Running in safe mode: nothing but statuses is written")
	}
	if err := registry.Register(gauge); err != nil {
		return fmt.Errorf("registering the metric of the safe mode: %w", err)
	}
	return nil
}

// isLoopback reports whether an address is reachable from this host only.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// filter returns the middleware of the metrics server: authentication and authorization
// by the API server, and aliases.
func (o *Options) filter(cfg *rest.Config, c *http.Client) (metricsserver.Filter, error) {
	if !o.MetricsSecure {
		return func(_ logr.Logger, h http.Handler) (http.Handler, error) { return withAliases(h), nil }, nil
	}
	guard, err := filters.WithAuthenticationAndAuthorization(cfg, c)
	if err != nil {
		return nil, fmt.Errorf("setting up authentication of metrics: %w", err)
	}
	return func(log logr.Logger, h http.Handler) (http.Handler, error) { return guard(log, withAliases(h)) }, nil
}

// withAliases serves metrics with aliases, and passes other requests to h.
func withAliases(h http.Handler) http.Handler {
	served := promhttp.HandlerFor(aliasing{metrics.Registry}, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == metricsPath {
			served.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// aliasing is a Gatherer that adds aliases.
type aliasing struct {
	prometheus.Gatherer
}

// Gather implements prometheus.Gatherer.
func (a aliasing) Gather() ([]*dto.MetricFamily, error) {
	families, err := a.Gatherer.Gather()
	for _, f := range families {
		if alias := aliasOf(f.GetName()); alias != "" {
			families = append(families, &dto.MetricFamily{
				Name: &alias, Help: new(f.GetHelp() + " (" + f.GetName() + ")"),
				Type: f.Type, Unit: f.Unit, Metric: f.Metric,
			})
		}
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families, err
}

// aliasOf returns the alias of a metric, or an empty string.
func aliasOf(name string) string {
	switch name {
	case "controller_runtime_reconcile_time_seconds":
		return "reconcile_duration_seconds"
	case "controller_runtime_reconcile_errors_total":
		return "reconcile_errors_total"
	case "controller_runtime_reconcile_total":
		return "reconcile_total"
	}
	return ""
}
