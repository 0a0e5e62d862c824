package members

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

const (
	// atOnce is the number of members in a round. warmUps are rounds that fill pools and caches, and
	// rounds those after which nothing may have grown: 100 cycles of one member.
	atOnce  = 10
	warmUps = 2
	rounds  = 10
	// heapNoise bounds the growth of the live heap: 10 KB for each cycle. A connection that was closed,
	// with its buffers, is live for some seconds more, and is waited for.
	heapNoise = 1 << 20
)

// usage holds what a process uses.
type usage struct {
	goroutines, descriptors, series int
	heap                            uint64
}

func measure(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	runtime.GC() // Twice: the first one ends finalizers and pools.
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u := usage{goroutines: runtime.NumGoroutine(), heap: memory.HeapAlloc}
	if runtime.GOOS == "linux" {
		descriptors, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		u.descriptors = len(descriptors)
	}
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	// Which answers a member has given by a moment is chance: one series for each is one here.
	series := map[string]bool{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			key := family.GetName()
			for _, label := range m.GetLabel() {
				if name := label.GetName(); name != "code" && name != "method" {
					key += "," + name + "=" + label.GetValue()
				}
			}
			series[key] = true
		}
	}
	u.series = len(series)
	return u
}

// checkUsage waits until hardly more is used than before. What ends with a connection, such as the
// goroutines of the server, does so a moment later.
func checkUsage(t *testing.T, before usage) {
	t.Helper()
	timeout, ticker := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer ticker.Stop()
	for {
		now := measure(t)
		// Some of each member may begin or end at either moment; a leak leaves ten of each.
		if now.goroutines <= before.goroutines+5*atOnce && now.descriptors <= before.descriptors+atOnce &&
			now.series <= before.series+atOnce && now.heap <= before.heap+heapNoise {
			t.Logf("before %d rounds: %+v; after them: %+v", rounds, before, now)
			return
		}
		select {
		case <-ticker.C:
		case <-timeout:
			stacks := make([]byte, 1<<20)
			t.Fatalf("before %d rounds: %+v; after them: %+v\n%s", rounds, before, now, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// nodeRunner runs a controller of nodes in each member.
type nodeRunner struct{ *controller.Runner[struct{}] }

func (r nodeRunner) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	c := controller.Controller{
		Name: "leaks", Cluster: name.String(),
		Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }),
		Sources:    []source.Source{source.Kind(cl.GetCache(), &corev1.Node{}, &handler.TypedEnqueueRequestForObject[*corev1.Node]{})},
		List:       func(context.Context) ([]reconcile.Request, error) { return []reconcile.Request{{}}, nil },
	}
	r.Runner.Engage(ctx, name, controller.Engagement[struct{}]{Cluster: cl, Run: c.Run})
	return nil
}

// startRunning runs a fleet with a controller in each member until the test ends.
func startRunning(t *testing.T) *Fleet {
	t.Helper()
	r := nodeRunner{controller.New[struct{}](controller.Options{})}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	// Lists of pods begin by chance. One that a loss interrupts leaves a series of its member's address.
	return startWith(t, Options{Periods: Periods{Retry: time.Millisecond, Pods: time.Hour}}, r)
}

// listen serves an API until close is called, and returns its kubeconfig.
func listen(t *testing.T, api *fakeAPI) (kubeconfig []byte, stop func()) {
	t.Helper()
	s := httptest.NewUnstartedServer(api)
	s.EnableHTTP2 = true
	s.StartTLS()
	return kubeconfigFor(t, s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})), s.Close
}

// TestMembersLeaveNothing registers and removes members with names and addresses of their own.
func TestMembersLeaveNothing(t *testing.T) {
	f := startRunning(t)
	checkRounds(t, func(round int) {
		var names []string
		for i := range atOnce {
			kubeconfig, stop := listen(t, &fakeAPI{uid: fmt.Sprint(i), nodes: 3})
			defer stop()
			names = append(names, fmt.Sprint("joins-", round, "-", i))
			f.Set(names[i], Target{Kubeconfig: kubeconfig})
		}
		for _, name := range names {
			await(t, f, name, func(s State) bool { return s.Engaged })
		}
		for _, name := range names {
			gone := f.accessor(name).done
			f.Remove(name)
			<-gone
		}
	})
}

// TestConnectionsLeaveNothing loses members and connects them again.
func TestConnectionsLeaveNothing(t *testing.T) {
	var down atomic.Bool
	f := startRunning(t)
	var names []string
	for i := range atOnce {
		kubeconfig, stop := listen(t, &fakeAPI{uid: fmt.Sprint(i), nodes: 3, fail: func(*http.Request) int {
			if down.Load() {
				return http.StatusServiceUnavailable
			}
			return 0
		}})
		t.Cleanup(stop)
		names = append(names, fmt.Sprint("flaps-", i))
		f.Set(names[i], Target{Kubeconfig: kubeconfig, Health: Health{Period: 10 * time.Millisecond}})
	}
	engaged := func(want bool) {
		for _, name := range names {
			await(t, f, name, func(s State) bool { return s.Engaged == want })
		}
	}
	engaged(true)
	checkRounds(t, func(int) {
		down.Store(true)
		engaged(false)
		down.Store(false)
		engaged(true)
	})
}

// checkRounds runs rounds and checks that nothing grows.
func checkRounds(t *testing.T, run func(round int)) {
	t.Helper()
	for i := range warmUps {
		run(i)
	}
	before := measure(t)
	for i := range rounds {
		run(warmUps + i)
	}
	checkUsage(t, before)
}
