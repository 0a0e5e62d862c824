package framework

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/spoke/setup"
)

// LogVariable is the environment variable with the file that Log writes to.
const LogVariable = "SHOPFLEET_HUB_LOG"

// Admin returns an administrator's client of a cluster, with all kinds of Shopfleet.
func Admin(t testing.TB, c *fleet.Cluster) client.WithWatch {
	t.Helper()
	scheme, err := setup.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.NewWithWatch(c.AdminConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

// Log returns a logger that writes to the file that LogVariable names, for a look at
// what a failed test did; without it, to nowhere.
func Log(t testing.TB) logr.Logger {
	t.Helper()
	path := os.Getenv(LogVariable)
	if path == "" {
		return logr.Discard()
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return logr.FromSlogHandler(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.Level(-2)}))
}

// Marks are places in the audit logs of a fleet, by cluster.
type Marks map[string]place

// place is the end of a log at a time. A request of before may be logged behind it, since a server
// responds first.
type place struct {
	end audit.Mark
	at  time.Time
}

// Mark returns where the audit logs end now.
func Mark(t testing.TB, f *fleet.Fleet) Marks {
	t.Helper()
	m, at := Marks{}, time.Now().Truncate(time.Microsecond) // As exact as the log.
	for _, c := range f.Clusters() {
		mark, err := c.AuditMark(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m[c.Name()] = place{mark, at}
	}
	return m
}

// Since returns the requests that a cluster received since the mark.
func (m Marks) Since(t testing.TB, c *fleet.Cluster) audit.Log {
	t.Helper()
	from := m[c.Name()]
	log, _, err := c.AuditSince(t.Context(), from.end)
	if err != nil {
		t.Fatal(err)
	}
	return log.Since(from.at)
}

// By returns the requests of a ServiceAccount of Shopfleet to a cluster since the mark.
func (m Marks) By(t testing.TB, c *fleet.Cluster, account string) audit.Log {
	t.Helper()
	return m.Since(t, c).ByServiceAccount(config.Namespace, account)
}

// MarkSettled returns a mark behind the last write of the product's accounts in a namespace. A change may end with
// events, which are sent in the background, and with mere progress, which statuses in members and on the hub report 5 s
// after they were written last, while few objects make progress. It gives up after a minute: what is still written then is
// for the caller's check to report.
func MarkSettled(t testing.TB, f *fleet.Fleet, namespace string, accounts ...string) Marks {
	t.Helper()
	const quiet, longest, step = 10 * time.Second, time.Minute, 500 * time.Millisecond
	began := time.Now()
	m, last := Mark(t, f), began
	for time.Since(last) < quiet && time.Since(began) < longest {
		Pause(t, step)
		next, now := Mark(t, f), time.Now()
		for _, c := range f.Clusters() {
			for _, account := range accounts {
				if len(m.By(t, c, account).Writes().In(namespace)) > 0 {
					last = now
				}
			}
		}
		m = next
	}
	return m
}

// Pause blocks for a time in which nothing is to happen.
func Pause(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

// Probe asks a process and returns the status code of its answer.
func Probe(ctx context.Context, url string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("making a request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("probing: %w", err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}
