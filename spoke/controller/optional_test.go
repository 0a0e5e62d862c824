package controller

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
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
// a kind that is not known to be served is not absent, so that nothing is reconciled yet. A list that
// takes longer than optionalSync is not begun anew.
func TestNotKnownYet(t *testing.T) {
	c := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: clusterName, APIServerOnly: true}}}).Member(clusterName)
	if err := c.Apply(t.Context(), []byte(certificateDefinition)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		path string
		// retries is how often the list is given up on before it arrives.
		retries int
	}{
		"definitions": {"/customresourcedefinitions", 0},
		"objects":     {"/certificates", 2},
	} {
		t.Run(name+" arrive late", func(t *testing.T) {
			s := startSlow(t, c.AdminConfig(), tt.path)
			s.awaitHeld(t, tt.retries)
			if isClosed(s.discovered) {
				t.Error("reconcilers start before it is known whether the cluster serves an optional kind")
			}
			// Later ones may be the API server's doing, which asks for patience while it loads its own cache.
			if n := s.lists.Load(); n != 1 {
				t.Errorf("%d lists, want one that may take long", n)
			}
			close(s.release)
			s.await(t, "the reconcilers to start", func() bool { return isClosed(s.discovered) })
			if facts := s.facts(render.Cluster{}); !facts.Certificates || facts.CertificatesUnknown {
				t.Error("reconcilers start without an optional kind that the cluster serves")
			}
			s.checkOneInformer(t)
		})
		t.Run(name+" never arrive", func(t *testing.T) {
			s := startSlow(t, c.AdminConfig(), tt.path)
			s.awaitHeld(t, tt.retries)
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
	t.Run("the definition goes before the objects arrive", testDefinitionGoes(c))
}

// testDefinitionGoes deletes the definition of a kind whose list is held: the list ends.
func testDefinitionGoes(c *fleet.Cluster) func(*testing.T) {
	return func(t *testing.T) {
		s := startSlow(t, c.AdminConfig(), "/certificates")
		s.awaitHeld(t, 1)
		admin, err := client.New(c.AdminConfig(), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		definition := definitions()
		definition.SetName(certificates)
		if err := admin.Delete(t.Context(), definition); err != nil {
			t.Fatal(err)
		}
		s.await(t, "the end of the list", func() bool { return s.ended.Load() == 1 })
		s.await(t, "the kind to be absent", func() bool { return !s.isUnknown(certificates) && isClosed(s.discovered) })
	}
}

// TestUnservedInformer checks that the informer of a kind that is no longer served ends.
func TestUnservedInformer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		served []schema.GroupVersion
		want   bool
	}{
		"served":     {[]schema.GroupVersion{{Group: "cert-manager.io", Version: "v1"}}, true},
		"not served": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := kindOf(t, certificates)
			mapper := meta.NewDefaultRESTMapper(nil)
			for _, version := range tt.served {
				mapper.Add(version.WithKind(kind.gvk.Kind), meta.RESTScopeNamespace)
			}
			running := controllertest.NewFakeInformer(controllertest.Synced)
			informers := &informertest.FakeInformers{
				InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{kind.gvk: running},
			}
			o := &optional{cache: informers, mapper: mapper, log: logr.Discard(), informed: map[string]bool{kind.crd: true}}
			err := o.start(t.Context(), kind)
			if (err == nil) != tt.want || err != nil && !meta.IsNoMatchError(err) {
				t.Errorf("starting a kind: %v", err)
			}
			if _, stays := informers.InformersByGVK[kind.gvk]; stays != tt.want || o.informed[kind.crd] != tt.want {
				t.Errorf("the informer stays %t, with a handler %t; want %t", stays, o.informed[kind.crd], tt.want)
			}
		})
	}
}

func kindOf(t *testing.T, crd string) optionalKind {
	t.Helper()
	for _, kind := range optionalKinds() {
		if kind.crd == crd {
			return kind
		}
	}
	t.Fatalf("no optional kind is defined by %q", crd)
	return optionalKind{}
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
	if definition.Generation != 0 {
		t.Error("the cache has more of a definition than is read")
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
	clock *clocktesting.FakeClock
	// lists counts the lists of the resource, ended those whose client did not wait for them.
	lists, ended atomic.Int64
	// retries counts the attempts of update that ended without a list that it needs. Only await uses it.
	retries int
	release chan struct{}
}

func startSlow(t *testing.T, config *rest.Config, path string) *slow {
	t.Helper()
	s := &slow{clock: clocktesting.NewFakeClock(time.Unix(1000, 0)), release: make(chan struct{})}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if strings.HasSuffix(request.URL.Path, path) && isList(request) {
				s.lists.Add(1)
				select {
				case <-s.release:
				case <-request.Context().Done():
					s.ended.Add(1)
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
	options := Options{Logger: logr.Discard(), Clock: s.clock, Waits: retry.Waits{Scale: 0.02}}.withDefaults()
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

// isList reports whether a request lists objects, which a watch may do, too.
func isList(request *http.Request) bool {
	query := request.URL.Query()
	return query.Get("watch") == "" || query.Get("sendInitialEvents") == "true"
}

// awaitHeld waits until a list is held, and update has given up on it a number of times.
func (s *slow) awaitHeld(t *testing.T, retries int) {
	t.Helper()
	s.await(t, "the list that is held", func() bool { return s.lists.Load() > 0 && s.retries >= retries })
}

// checkOneInformer checks that the informer of Certificates notifies once.
func (s *slow) checkOneInformer(t *testing.T) {
	t.Helper()
	found, err := s.cache.GetInformer(t.Context(), kindOf(t, certificates).sample())
	if err != nil {
		t.Fatal(err)
	}
	running, ok := found.(*informer)
	if !ok {
		t.Fatalf("the informer of Certificates is a %T", found)
	}
	running.mu.Lock()
	defer running.mu.Unlock()
	if n := len(running.handlers); n != 1 {
		t.Errorf("the informer has %d event handlers, want 1", n)
	}
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
			s.retries++
			s.clock.Step(s.options.Waits.Scaled(soonRetry))
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
