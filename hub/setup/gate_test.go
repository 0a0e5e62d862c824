package setup

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// TestGate starts the hub's gate with its own permissions before a real API server: without definitions, with those of an
// older release, and with those of this build. The field that is missing is one that only the hub writes.
func TestGate(t *testing.T) {
	hub := fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub", APIServerOnly: true}}).Hub()
	if err := hub.ApplyFolder(t.Context(), "../../config/rbac/hub"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), fleettest.Timeout)
	defer cancel()
	var logged []string
	opened := false
	g := gateOf(t, hub, func(_, line string) { logged = append(logged, line) }, func(context.Context) error {
		opened = true
		return nil
	})
	if err := g.check(nil); !errors.Is(err, errClosed) {
		t.Errorf("before the first request: %v, want %v", err, errClosed)
	}
	awaitClosed(t, g, "plans.ecommerce.io is not served")

	current, older := applications(t), applications(t)
	version := older.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	unstructured.RemoveNestedField(version, "schema", "openAPIV3Schema", "properties", "status", "properties", "rollout", "properties", "leftBehind")
	if err := errors.Join(hub.ApplyFolder(t.Context(), "../../config/crd/bases"), apply(t, hub, older)); err != nil {
		t.Fatal(err)
	}
	const want = "ecommerceapps.ecommerce.io lacks status.rollout.leftBehind"
	awaitClosed(t, g, ": "+want)
	lines := len(logged)
	awaitClosed(t, g, ": "+want)
	if len(logged) > lines || !strings.Contains(logged[lines-1], want) {
		t.Errorf("it logged the missing field %d times more; the last line before is %s", len(logged)-lines, logged[lines-1])
	}

	done := make(chan error, 1)
	go func() { done <- g.Start(ctx) }()
	if err := errors.Join(apply(t, hub, current), <-done, g.check(nil)); err != nil || !opened {
		t.Errorf("with the current definition: open %t, %v", opened, err)
	}
}

// TestWaitIsLoggedAgain checks that a hub that waits says for what when that changes, and every ten minutes.
func TestWaitIsLoggedAgain(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	t.Cleanup(server.Close)
	lines := 0
	g, err := newGate(&rest.Config{Host: server.URL}, nil, funcr.New(func(_, line string) {
		if strings.Contains(line, "Waiting for the API server") {
			lines++
		}
	}, funcr.Options{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	g.clock = c
	for _, tt := range []struct {
		name   string
		after  time.Duration
		status int32
		want   int
	}{
		{"at first", 0, http.StatusNotFound, 1},
		{"after two seconds", retryPeriod, http.StatusNotFound, 1},
		{"before ten minutes", 10*time.Minute - 2*retryPeriod, http.StatusNotFound, 1},
		{"after ten minutes", retryPeriod, http.StatusNotFound, 2},
		{"after two seconds more", retryPeriod, http.StatusNotFound, 2},
		{"while the API server fails", 10 * time.Minute, http.StatusForbidden, 2},
		{"when it answers", retryPeriod, http.StatusNotFound, 3},
	} {
		status.Store(tt.status)
		c.SetTime(c.Now().Add(tt.after))
		if served, err := g.isServed(t.Context()); served || err != nil || lines != tt.want {
			t.Errorf("%s: served %t, %v, logged %d times, want %d", tt.name, served, err, lines, tt.want)
		}
	}
}

// TestHeldUntil checks that no request is sent before the gate opens.
func TestHeldUntil(t *testing.T) {
	t.Parallel()
	sent := 0
	next := roundTripper(func(*http.Request) (*http.Response, error) {
		sent++
		return &http.Response{Body: http.NoBody}, nil
	})
	opened := make(chan struct{})
	transport := heldUntil(opened, &rest.Config{}).WrapTransport(next)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	send := func(ctx context.Context) error {
		response, err := transport.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	if err := send(ctx); !errors.Is(err, errHeld) || sent > 0 {
		t.Errorf("before: %d requests are sent, %v", sent, err)
	}
	close(opened)
	if err := send(t.Context()); err != nil || sent != 1 {
		t.Errorf("after: %d requests are sent, %v", sent, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// gateOf returns a gate with the permissions of the hub.
func gateOf(t *testing.T, hub *fleet.Cluster, log func(_, line string), open func(context.Context) error) *gate {
	t.Helper()
	kubeconfig, err := hub.ServiceAccountKubeconfig(t.Context(), config.Namespace, config.HubServiceAccount)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	bounded, err := boundedClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, bounded)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGate(cfg, mapper, funcr.New(log, funcr.Options{}), open)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// awaitClosed waits until the gate is closed for a reason.
func awaitClosed(t *testing.T, g *gate, reason string) {
	t.Helper()
	fleettest.Eventually(t, "the gate to say: "+reason, func(ctx context.Context) error {
		if served, _ := g.isServed(ctx); served {
			return errors.New("all is served")
		}
		if err := g.check(nil); !strings.HasSuffix(err.Error(), reason) {
			return err
		}
		return nil
	})
}

// applications returns the definition of EcommerceApp.
func applications(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	definition, err := config.Definition("ecommerce.io", "ecommerceapps")
	if err != nil {
		t.Fatal(err)
	}
	return definition
}

func apply(t *testing.T, hub *fleet.Cluster, definition *unstructured.Unstructured) error {
	t.Helper()
	raw, err := json.Marshal(definition)
	if err != nil {
		return err
	}
	return hub.Apply(t.Context(), raw)
}
