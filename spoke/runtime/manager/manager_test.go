package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// logged returns the levels and messages of a log.
func logged(t *testing.T, out io.Reader) []string {
	t.Helper()
	var lines []string
	for decoder := json.NewDecoder(out); decoder.More(); {
		var line struct{ Level, Msg string }
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line.Level+" "+line.Msg)
	}
	return lines
}

func TestLogsAreStructuredAndLevelled(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	level := &Level{}
	// What was derived earlier follows too.
	logger := NewLogger(&out, level).WithName("n").WithValues("cluster", "eu-1")
	say := func(verbosity int, messages ...string) {
		if err := level.Set(verbosity); err != nil {
			t.Fatal(err)
		}
		for i, message := range messages {
			logger.V(i).Info(message)
		}
	}
	say(1, "a", "b", "c")
	say(0, "d", "e")
	say(2, "f", "g", "h", "i")
	want := []string{"INFO a", "V1 b", "INFO d", "INFO f", "V1 g", "V2 h"}
	if diff := cmp.Diff(want, logged(t, &out)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestBodiesAreNeverLogged checks that client-go does not log bodies, as it would at verbosity 8.
func TestBodiesAreNeverLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	level := &Level{}
	logger := NewLogger(&out, level)
	if err := level.Set(10); err != nil {
		t.Fatal(err)
	}
	logger.V(7).Info("headers")
	for v := 8; v <= 10; v++ {
		if logger.V(v).Enabled() {
			t.Errorf("level %d is logged", v)
		}
		logger.V(v).Info("body")
	}
	if diff := cmp.Diff([]string{"V7 headers"}, logged(t, &out)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestVerbosityIsBounded(t *testing.T) {
	t.Parallel()
	level := &Level{}
	for _, v := range []int{10, 0, 3} {
		if err := level.Set(v); err != nil || level.Verbosity() != v {
			t.Errorf("%d was set: verbosity %d, error %v", v, level.Verbosity(), err)
		}
	}
	for _, v := range []int{-1, 11} {
		if err := level.Set(v); err == nil || level.Verbosity() != 3 {
			t.Errorf("%d was set: verbosity %d, error %v; want 3 and an error", v, level.Verbosity(), err)
		}
	}
	if err := (&Options{Verbosity: 11}).UseLogger(io.Discard); err == nil {
		t.Error("a process accepts the verbosity 11")
	}
}

func TestLogLevelHandler(t *testing.T) {
	t.Parallel()
	const asked = "GET returns the verbosity, PUT sets it\n"
	for name, test := range map[string]struct {
		method, body string
		code         int
		answer       string
		verbosity    int
	}{
		"reads":                {http.MethodGet, "", 200, "2\n", 2},
		"changes":              {http.MethodPut, "5", 200, "5\n", 5},
		"changes by a line":    {http.MethodPut, " 0\n", 200, "0\n", 0},
		"refuses nothing":      {http.MethodPut, "", 400, "verbosity \"\" is not a number from 0 to 10\n", 2},
		"refuses words":        {http.MethodPut, "debug", 400, "verbosity \"debug\" is not a number from 0 to 10\n", 2},
		"refuses fractions":    {http.MethodPut, "1.5", 400, "verbosity \"1.5\" is not a number from 0 to 10\n", 2},
		"refuses too much":     {http.MethodPut, "11", 400, "verbosity 11 is not 0 to 10\n", 2},
		"refuses too little":   {http.MethodPut, "-1", 400, "verbosity -1 is not 0 to 10\n", 2},
		"reads no long bodies": {http.MethodPut, strings.Repeat(" ", 1000) + "5", 400, "verbosity \"" + strings.Repeat(" ", maxBody) + "\" is not a number from 0 to 10\n", 2},
		"knows no POST":        {http.MethodPost, "5", 405, asked, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			level := &Level{}
			if err := level.Set(2); err != nil {
				t.Fatal(err)
			}
			o := Options{Level: level, Logger: NewLogger(&out, level)}
			recorder := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), test.method, "/debug/log-level", strings.NewReader(test.body))
			o.debugHandlers()["/debug/log-level"].ServeHTTP(recorder, request)
			if recorder.Code != test.code || recorder.Body.String() != test.answer || level.Verbosity() != test.verbosity {
				t.Errorf("answer %d %q and verbosity %d, want %d %q and %d",
					recorder.Code, recorder.Body, level.Verbosity(), test.code, test.answer, test.verbosity)
			}
			var want []string
			if test.verbosity != 2 {
				want = []string{"INFO Changed log verbosity"}
			}
			if diff := cmp.Diff(want, logged(t, &out)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsServedWhere(t *testing.T) {
	t.Parallel()
	const (
		level   = "/debug/log-level"
		profile = "/debug/pprof/"
	)
	for name, test := range map[string]struct {
		options Options
		served  []string
		warns   bool
	}{
		"secure":                     {Options{MetricsBindAddress: ":8443", MetricsSecure: true}, []string{level}, false},
		"secure with profiles":       {Options{MetricsBindAddress: ":8443", MetricsSecure: true, Profiling: true}, []string{level, profile}, false},
		"plain on loopback":          {Options{MetricsBindAddress: "127.0.0.1:0", Profiling: true}, []string{level, profile}, false},
		"plain on loopback, IPv6":    {Options{MetricsBindAddress: "[::1]:0"}, []string{level}, false},
		"plain on loopback, by name": {Options{MetricsBindAddress: "localhost:80"}, []string{level}, false},
		"plain everywhere":           {Options{MetricsBindAddress: ":8080", Profiling: true}, nil, true},
		"plain on a network":         {Options{MetricsBindAddress: "10.0.0.1:8080", Profiling: true}, nil, true},
		"plain by a name":            {Options{MetricsBindAddress: "localhost.example.com:8080", Profiling: true}, nil, true},
		"plain without address":      {Options{Profiling: true}, nil, true},
		"nowhere":                    {Options{MetricsBindAddress: "0", Profiling: true}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			o := test.options
			o.Level = &Level{}
			o.Logger = NewLogger(&out, o.Level)
			var m manager.Options
			if err := o.Configure(&m); err != nil {
				t.Fatal(err)
			}
			served := slices.DeleteFunc(slices.Sorted(maps.Keys(m.Metrics.ExtraHandlers)), func(path string) bool {
				return strings.HasPrefix(path, profile) && path != profile
			})
			if diff := cmp.Diff(test.served, served); diff != "" {
				t.Errorf("debugging (-want +got):\n%s", diff)
			}
			if warned := strings.Contains(out.String(), "WARNING"); warned != test.warns {
				t.Errorf("warned: %t, want %t; log: %s", warned, test.warns, &out)
			}
			if m.Metrics.SecureServing != test.options.MetricsSecure || m.Metrics.FilterProvider == nil {
				t.Errorf("secure: %t, a filter: %t", m.Metrics.SecureServing, m.Metrics.FilterProvider != nil)
			}
		})
	}
}

func TestAnUnreadableCertificateIsRefused(t *testing.T) {
	t.Parallel()
	o := Options{MetricsBindAddress: ":8443", MetricsSecure: true, MetricsCertDir: t.TempDir()}
	var m manager.Options
	if err := o.Configure(&m); err == nil || !strings.Contains(err.Error(), "certificate for metrics") {
		t.Errorf("a folder without a certificate: %v", err)
	}
	o.MetricsBindAddress = "0"
	if err := o.Configure(&m); err != nil {
		t.Errorf("metrics that are not served: %v", err)
	}
}

// TestLeadership pins the times of leader election: suites run with a shorter Lease.
func TestLeadership(t *testing.T) {
	t.Parallel()
	for lease, want := range map[time.Duration]struct{ lease, retry time.Duration }{
		0:               {15 * time.Second, time.Second},
		6 * time.Second: {6 * time.Second, time.Second},
		time.Second:     {time.Second, 200 * time.Millisecond},
	} {
		o := Options{LeaderElect: true, LeaseDuration: lease}
		m := manager.Options{LeaderElectionID: "lease"}
		if err := o.Configure(&m); err != nil {
			t.Fatal(err)
		}
		if !m.LeaderElection || !m.LeaderElectionReleaseOnCancel || m.LeaderElectionID != "lease" ||
			*m.LeaseDuration != want.lease || *m.RenewDeadline != want.lease*2/3 || *m.RetryPeriod != want.retry {
			t.Errorf("leadership with a Lease of %s is %+v", lease, m)
		}
		if *m.GracefulShutdownTimeout >= 20*time.Second {
			t.Errorf("the end may take %s, and more for the lease", *m.GracefulShutdownTimeout)
		}
	}
}

func TestSecondNames(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	total := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "controller_runtime_reconcile_total", Help: "All."},
		[]string{"controller", "result"})
	errs := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "controller_runtime_reconcile_errors_total", Help: "Failed."},
		[]string{"controller"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "controller_runtime_reconcile_time_seconds", Help: "Time.", Buckets: []float64{1},
	}, []string{"controller"})
	other := prometheus.NewGauge(prometheus.GaugeOpts{Name: "other", Help: "Other."})
	registry.MustRegister(total, errs, duration, other)
	total.WithLabelValues("app", "success").Add(3)
	total.WithLabelValues("app", "error").Inc()
	errs.WithLabelValues("app").Inc()
	duration.WithLabelValues("app").Observe(0.5)

	families, err := aliasing{registry}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	byName := map[string]string{}
	for _, f := range families {
		names = append(names, f.GetName())
		_, byName[f.GetName()], _ = strings.Cut(f.String(), "type:")
	}
	want := []string{
		"controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_time_seconds", "controller_runtime_reconcile_total",
		"other", "reconcile_duration_seconds", "reconcile_errors_total", "reconcile_total",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for alias, name := range map[string]string{
		"reconcile_duration_seconds": "controller_runtime_reconcile_time_seconds",
		"reconcile_errors_total":     "controller_runtime_reconcile_errors_total",
		"reconcile_total":            "controller_runtime_reconcile_total",
	} {
		if byName[alias] != byName[name] {
			t.Errorf("%s is %s, want what %s is: %s", alias, byName[alias], name, byName[name])
		}
	}
}

// TestPlainMetricsHaveSecondNames asks the filter that stands around all handlers.
func TestPlainMetricsHaveSecondNames(t *testing.T) {
	t.Parallel()
	o := Options{}
	filter, err := o.filter(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(o.Logger, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/metrics": http.StatusOK, "/debug/log-level": http.StatusTeapot} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if recorder.Code != want {
			t.Errorf("%s answers %d, want %d", path, recorder.Code, want)
		}
	}
}

func TestReadyUntilTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	check := until(ctx)
	if err := check(nil); err != nil {
		t.Errorf("not ready while running: %v", err)
	}
	cancel()
	if err := check(nil); err == nil {
		t.Error("ready while ending")
	}
}

// TestSafeModeIsReported checks that a process that writes nothing says so in its log and in a metric.
func TestSafeModeIsReported(t *testing.T) {
	t.Parallel()
	for on, want := range map[bool]struct {
		value string
		lines []string
	}{
		false: {"shopfleet_safe_mode 0", nil},
		true:  {"shopfleet_safe_mode 1", []string{"INFO Running in safe mode: nothing but statuses is written"}},
	} {
		var out bytes.Buffer
		o := Options{SafeMode: on}
		if err := o.UseLogger(&out); err != nil {
			t.Fatal(err)
		}
		registry := prometheus.NewRegistry()
		if err := o.ReportSafeMode(registry); err != nil {
			t.Fatal(err)
		}
		help := "# HELP shopfleet_safe_mode 1 if the process runs in safe mode and only observes, else 0.\n# TYPE shopfleet_safe_mode gauge\n"
		if err := testutil.GatherAndCompare(registry, strings.NewReader(help+want.value+"\n"), "shopfleet_safe_mode"); err != nil {
			t.Errorf("safe mode %t: %v", on, err)
		}
		if diff := cmp.Diff(want.lines, logged(t, &out)); diff != "" {
			t.Errorf("safe mode %t: log (-want +got):\n%s", on, diff)
		}
	}
}
