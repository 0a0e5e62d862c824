package controller

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/queues"
	"github.com/shopfleet/shopfleet/spoke/render"
)

const (
	certificates          = "certificates.cert-manager.io"
	prometheusRules       = "prometheusrules.monitoring.coreos.com"
	certificateDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {plural: certificates, singular: certificate, kind: Certificate, listKind: CertificateList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`
)

// TestNotKnownYet starts in a cluster that is slow to list its CRDs, or the objects of one:
// a kind that is not known to be served is not absent, so that nothing is reconciled yet.
func TestNotKnownYet(t *testing.T) {
	c := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: clusterName, APIServerOnly: true}}}).Member(clusterName)
	if err := c.Apply(t.Context(), []byte(certificateDefinition)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		path string
		// attempts is the number of lists to wait for: all but the last have timed out.
		attempts int64
	}{
		"definitions": {"/customresourcedefinitions", 1},
		"objects":     {"/certificates", 2},
	} {
		t.Run(name+" arrive late", func(t *testing.T) {
			s := startSlow(t, c.AdminConfig(), tt.path)
			s.await(t, "the lists that are held", func() bool { return s.attempts.Load() >= tt.attempts })
			if isClosed(s.discovered) {
				t.Error("reconcilers start before it is known whether the cluster serves an optional kind")
			}
			close(s.release)
			s.await(t, "the reconcilers to start", func() bool { return isClosed(s.discovered) })
			if facts := s.facts(render.Cluster{}); !facts.Certificates || facts.CertificatesUnknown {
				t.Error("reconcilers start without an optional kind that the cluster serves")
			}
		})
		t.Run(name+" never arrive", func(t *testing.T) {
			s := startSlow(t, c.AdminConfig(), tt.path)
			s.await(t, "the lists that are held", func() bool { return s.attempts.Load() >= tt.attempts })
			s.clock.Step(s.options.Waits.Scaled(unknownLimit))
			s.await(t, "the reconcilers to start without the kind", func() bool { return isClosed(s.discovered) })
			if s.has(certificates) {
				t.Error("a kind is used that could not be listed")
			}
			if facts := s.facts(render.Cluster{}); !facts.CertificatesUnknown {
				t.Error("a kind that could not be listed counts as absent")
			}
		})
	}
}

// TestNotServedYet starts beside a definition that is not served: it is not absent until it is
// so old that it has another version.
func TestNotServedYet(t *testing.T) {
	c := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: clusterName, APIServerOnly: true}}}).Member(clusterName)
	another := strings.Replace(certificateDefinition, "name: v1\n", "name: v2\n", 1)
	if err := c.Apply(t.Context(), []byte(another)); err != nil {
		t.Fatal(err)
	}
	s := startSlow(t, c.AdminConfig(), "/none")
	s.await(t, "a look at the definitions", func() bool { return !s.isUnknown(prometheusRules) })
	if !s.isUnknown(certificates) || isClosed(s.discovered) {
		t.Error("a kind that is not served yet counts as absent")
	}
	definition := definitions()
	if err := s.cache.Get(t.Context(), client.ObjectKey{Name: certificates}, definition); err != nil {
		t.Fatal(err)
	}
	s.clock.SetTime(definition.CreationTimestamp.Add(servedWithin))
	s.await(t, "the kind to be absent", func() bool { return !s.isUnknown(certificates) })
	if again := s.update(t.Context()); again != s.options.Waits.Scaled(optionalRetry) {
		t.Errorf("a kind of another version is tried again after %s", again)
	}
}

func (s *slow) isUnknown(crd string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unknown[crd]
}

// slow is an optional whose lists of one resource do not arrive until they are released.
type slow struct {
	*optional
	clock    *clocktesting.FakeClock
	attempts atomic.Int64
	release  chan struct{}
}

func startSlow(t *testing.T, config *rest.Config, path string) *slow {
	t.Helper()
	s := &slow{clock: clocktesting.NewFakeClock(time.Unix(1000, 0)), release: make(chan struct{})}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if strings.HasSuffix(request.URL.Path, path) {
				s.attempts.Add(1)
				select {
				case <-s.release:
				case <-request.Context().Done():
					return nil, request.Context().Err()
				}
			}
			return next.RoundTrip(request)
		})
	})
	cl, err := cluster.New(config, func(o *cluster.Options) { o.Scheme = clientgoscheme.Scheme })
	if err != nil {
		t.Fatal(err)
	}
	options := Options{Logger: logr.Discard(), Clock: s.clock, Waits: queues.Waits{Scale: 0.02}}.withDefaults()
	if s.optional, err = newOptional(cl, options); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return s
}

// await waits for a condition. Meanwhile it lets the time pass that update waits for,
// which is a waiter beside that for the limit.
func (s *slow) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("no sign of %s", what)
		}
		if s.clock.Waiters() > 1 {
			s.clock.Step(s.options.Waits.Scaled(soonRetry))
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
