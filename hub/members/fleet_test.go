package members

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// patience is far more than anything here takes.
const patience = 30 * time.Second

func kubeconfigFor(t *testing.T, server string, authority []byte) []byte {
	t.Helper()
	config := api.NewConfig()
	config.CurrentContext = "c"
	config.Clusters["k"] = &api.Cluster{Server: server, CertificateAuthorityData: authority, TLSServerName: "example.com"}
	config.AuthInfos["u"] = &api.AuthInfo{Token: "t"}
	config.Contexts["c"] = &api.Context{Cluster: "k", AuthInfo: "u"}
	raw, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// noRunner runs nothing in members.
type noRunner struct{}

func (noRunner) Engage(context.Context, multicluster.ClusterName, cluster.Cluster) error { return nil }

// start runs a fleet until the test ends, and checks that it ends.
func start(t *testing.T, options Options) *Fleet {
	t.Helper()
	return startWith(t, options, noRunner{})
}

// startWith does the same with a runner.
func startWith(t *testing.T, options Options, aware multicluster.Aware) *Fleet {
	t.Helper()
	options.Scheme = runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(options.Scheme); err != nil {
		t.Fatal(err)
	}
	f := New(options)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Start(ctx, aware) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("the fleet does not end")
		}
	})
	return f
}

// await waits for a state, woken by the fleet.
func await(t *testing.T, f *Fleet, name string, accept func(State) bool) State {
	t.Helper()
	changed := make(chan struct{}, 1)
	defer f.OnChange(func(string) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	timeout := time.After(patience)
	for {
		state, ok := f.State(name)
		if ok && accept(state) {
			return state
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("member %s: %v %+v", name, ok, state)
		}
	}
}

func refusedFor(reason string) func(State) bool {
	return func(s State) bool { return s.Ready.Reason == reason }
}

func TestRefusedKubeconfigs(t *testing.T) {
	f := start(t, Options{})
	good := kubeconfigFor(t, "https://127.0.0.1:1", nil)
	f.Set("a", Target{Kubeconfig: []byte("no")})
	state := await(t, f, "a", refusedFor(v1.ReasonKubeconfigInvalid))
	if !state.Known || state.Engaged || state.CredentialsValid.Reason != v1.ReasonKubeconfigInvalid {
		t.Errorf("state %+v", state)
	}
	f.Set("a", Target{})
	await(t, f, "a", refusedFor(v1.ReasonKubeconfigMissing))
	f.Set("a", Target{Kubeconfig: good})
	state = await(t, f, "a", refusedFor(v1.ReasonProbeFailed))
	if state.Connected.Message != "the cluster refuses connections" || state.CredentialsValid.Reason != v1.ReasonNotChecked {
		t.Errorf("state %+v", state)
	}
	f.Set("a", Target{Kubeconfig: []byte("no")})
	await(t, f, "a", refusedFor(v1.ReasonKubeconfigInvalid))
}

func TestNamesComeAndGo(t *testing.T) {
	f := start(t, Options{})
	bad := Target{Kubeconfig: []byte("no")}
	for _, name := range []string{"b", "a", "c"} {
		f.Set(name, bad)
		await(t, f, name, refusedFor(v1.ReasonKubeconfigInvalid))
	}
	gone := make(chan string, 1)
	stop := f.OnChange(func(name string) { gone <- name })
	f.Remove("b")
	f.Remove("never")
	select {
	case name := <-gone:
		if name != "b" {
			t.Errorf("told about %q", name)
		}
	case <-time.After(patience):
		t.Error("no event was sent")
	}
	stop()
	if diff := cmp.Diff([]string{"a", "c"}, f.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if _, ok := f.State("b"); ok {
		t.Error("a member that was removed has a state")
	}
	f.Set("b", Target{})
	await(t, f, "b", refusedFor(v1.ReasonKubeconfigMissing))
	if _, err := f.Get(t.Context(), "b"); !errors.Is(err, multicluster.ErrClusterNotFound) {
		t.Errorf("error %v", err)
	}
}

// TestSeriesOfRequests removes a member whose requests were counted by its address.
func TestSeriesOfRequests(t *testing.T) {
	f := start(t, Options{})
	for _, host := range []string{"127.0.0.1:1", "127.0.0.1:2"} {
		f.Set("a", Target{Kubeconfig: kubeconfigFor(t, "https://"+host, nil)})
		for counted(t)[host] == 0 {
			await(t, f, "a", refusedFor(v1.ReasonProbeFailed))
		}
	}
	gone := f.accessor("a").done
	f.Remove("a")
	<-gone
	if left := counted(t); left["127.0.0.1:1"]+left["127.0.0.1:2"] > 0 {
		t.Errorf("series stay: %v", left)
	}
}

// counted returns the number of counted requests by host.
func counted(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if family.GetName() == "rest_client_requests_total" && label.GetName() == "host" {
					requests[label.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return requests
}

func TestSetBeforeStart(t *testing.T) {
	f := New(Options{})
	f.Set("a", Target{Kubeconfig: []byte("no")})
	f.Set("b", Target{})
	f.Remove("a")
	f.Set("a", Target{})
	if state, ok := f.State("a"); !ok || state.Known || state.Ready.Reason != v1.ReasonConnecting {
		t.Errorf("state %+v %v", state, ok)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Start(ctx, noRunner{}) }()
	await(t, f, "a", refusedFor(v1.ReasonKubeconfigMissing))
	await(t, f, "b", refusedFor(v1.ReasonKubeconfigMissing))
	if err := f.Start(ctx, noRunner{}); !errors.Is(err, ErrStarted) {
		t.Errorf("a second start: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestHungMember checks that a member that accepts connections and never responds delays no other.
func TestHungMember(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	taken := make(chan net.Conn, 1)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			select {
			case taken <- connection:
			default:
			}
		}
	}()
	f := start(t, Options{Timeouts: Timeouts{Dial: time.Hour, Request: time.Hour, Probe: time.Hour}})
	hung := Target{Kubeconfig: kubeconfigFor(t, "https://"+listener.Addr().String(), nil)}
	f.Set("hung", hung)
	<-taken
	f.Set("other", Target{})
	await(t, f, "other", refusedFor(v1.ReasonKubeconfigMissing))
	if state, _ := f.State("hung"); state.Known || state.Ready.Reason != v1.ReasonConnecting {
		t.Errorf("state %+v", state)
	}
	// Another kubeconfig is tried at once, and a removal is done at once.
	f.Set("hung", Target{Kubeconfig: []byte("no")})
	await(t, f, "hung", refusedFor(v1.ReasonKubeconfigInvalid))
	f.Set("hung", hung)
	f.Remove("hung")
	f.Set("hung", Target{})
	await(t, f, "hung", refusedFor(v1.ReasonKubeconfigMissing))
}

// apiServer answers probes with an identity and an HTTP status.
func apiServer(t *testing.T, uid string, status *atomic.Int32) []byte {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/kube-system" {
			t.Errorf("a refused cluster was asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		if code := int(status.Load()); code != http.StatusOK {
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d}`, code)
			return
		}
		_, _ = fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, uid)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return kubeconfigFor(t, s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

func TestRefusedByTheCluster(t *testing.T) {
	status := &atomic.Int32{}
	status.Store(http.StatusUnauthorized)
	f := start(t, Options{HubUID: "hub"})
	f.Set("a", Target{Kubeconfig: apiServer(t, "hub", status)})
	state := await(t, f, "a", refusedFor(v1.ReasonUnauthorized))
	if !state.Known || state.Connected.Reason != v1.ReasonUnauthorized {
		t.Errorf("state %+v", state)
	}
	status.Store(http.StatusForbidden)
	await(t, f, "a", func(s State) bool { return s.Authorized.Reason == v1.ReasonPermissionsMissing })
	status.Store(http.StatusOK)
	await(t, f, "a", refusedFor(v1.ReasonHubItself))
	f.Set("b", Target{Kubeconfig: apiServer(t, "2", status), PinnedUID: "1"})
	await(t, f, "b", refusedFor(v1.ReasonClusterIdentityChanged))
	f.Pin("first", "3", time.Time{})
	f.Set("c", Target{Kubeconfig: apiServer(t, "3", status)})
	await(t, f, "c", refusedFor(v1.ReasonDuplicateCluster))
}

// TestRemoveForgetsPins removes a member that is pinned but was never set, as when its
// Secret was deleted while no hub ran: its cluster can be registered under another name.
func TestRemoveForgetsPins(t *testing.T) {
	t.Parallel()
	const uid = "the cluster"
	f := New(Options{})
	f.Pin("former", uid, time.Unix(1, 0))
	f.Pin("present", "", time.Unix(2, 0))
	if failure := f.claims.Admit(t.Context(), "present", uid); failure == nil || failure.Reason != v1.ReasonDuplicateCluster {
		t.Fatalf("while the former name is registered: %v, want the reason %s", failure, v1.ReasonDuplicateCluster)
	}
	f.Remove("former")
	if failure := f.claims.Admit(t.Context(), "present", uid); failure != nil {
		t.Errorf("after the former name was removed: %v", failure)
	}
}
