package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// start starts a Runner that ends with the test.
func start(t *testing.T) *Runner[string] {
	t.Helper()
	r := New[string](Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _ = r.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		synctest.Wait()
		<-time.After(time.Minute) // Tickers of a queue end at their next tick.
	})
	return r
}

// recorder is a reconciler that records requests.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (r *recorder) Reconcile(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, request.Name)
	return reconcile.Result{}, nil
}

// names returns the names of the requests so far, in order.
func (r *recorder) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.seen))
}

// TestRequestsWaitForTheController adds requests before there is a queue, also between
// the list and the moment when the queue is connected.
func TestRequestsWaitForTheController(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		var seen recorder
		c := Controller{Name: "test", Cluster: t.Name(), Queue: &Queue{}, Workers: 1, Reconciler: &seen}
		c.List = func(context.Context) ([]reconcile.Request, error) { return []reconcile.Request{request("listed")}, nil }
		c.Queue.Add(request("early"), request("early"))
		c.Queue.AddAfter(time.Hour, request("late"), request("early"))
		r.Engage(t.Context(), "a", Engagement[string]{Run: c.Run})
		synctest.Wait()
		if diff := cmp.Diff([]string{"early", "listed"}, seen.names()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		<-time.After(time.Hour)
		synctest.Wait()
		if got := seen.names(); !slices.Contains(got, "late") {
			t.Errorf("the delayed request is lost: %v", got)
		}
	})
}

// TestResync lists again and again, each time up to three tenths late. One list fails.
func TestResync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		var seen recorder
		var mu sync.Mutex
		var lists []time.Time
		c := Controller{Name: "test", Cluster: t.Name(), Resync: time.Minute, Reconciler: &seen}
		c.List = func(context.Context) ([]reconcile.Request, error) {
			mu.Lock()
			defer mu.Unlock()
			if lists = append(lists, clock.RealClock{}.Now()); len(lists) == 2 {
				return nil, errors.New("no answer")
			}
			return []reconcile.Request{request("a")}, nil
		}
		ctx, end := context.WithCancel(t.Context())
		r.Engage(ctx, "a", Engagement[string]{Run: c.Run})
		synctest.Wait()
		if len(seen.names()) != 1 {
			t.Fatalf("%d requests at the start, want 1", len(seen.names()))
		}
		<-time.After(draws * time.Minute * 13 / 10)
		end()
		synctest.Wait()
		if got := len(seen.names()); got != len(lists)-1 || got < draws {
			t.Errorf("%d requests after %d lists, want one for each but the one that failed", got, len(lists))
		}
		var periods []time.Duration
		for i := range lists[1:] {
			periods = append(periods, lists[i+1].Sub(lists[i]))
		}
		wantJitter(t, "the period", periods, time.Minute)
	})
}

// TestFormerEndsFirst engages a cluster of the same name while the former one still works.
func TestFormerEndsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		release := make(chan struct{})
		var running, started atomic.Int32
		run := func(ctx context.Context) error {
			started.Add(1)
			if running.Add(1) > 1 {
				t.Error("two engagements of one name run")
			}
			<-ctx.Done()
			<-release
			running.Add(-1)
			return ctx.Err()
		}
		engage := func(value string) context.CancelFunc {
			ctx, cancel := context.WithCancel(t.Context())
			r.Engage(ctx, "a", Engagement[string]{Value: value, Run: run, Cluster: fakeCluster{id: value}})
			synctest.Wait()
			return cancel
		}
		endFirst := engage("first")
		if r.Engage(t.Context(), "a", Engagement[string]{Cluster: fakeCluster{id: "first"}, Run: run}) {
			t.Error("the same cluster is engaged twice")
		}
		endFirst()
		if value, engaged := r.Get("a"); engaged {
			t.Errorf("%s is engaged after its context ended", value)
		}
		endSecond := engage("second")
		endSecond() // Before it ran at all.
		endThird := engage("third")
		if value, _ := r.Get("a"); value != "third" || started.Load() != 1 {
			t.Errorf("%s is engaged and %d started, want third and 1", value, started.Load())
		}
		close(release)
		synctest.Wait()
		if got := started.Load(); got != 2 {
			t.Errorf("%d started, want the first and the third", got)
		}
		endThird()
		synctest.Wait()
		if len(r.All()) != 0 || len(r.clusters) != 0 {
			t.Error("an engagement stays after its end")
		}
	})
}

func TestRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		var runs atomic.Int32
		c := Controller{Name: "test", Cluster: t.Name(), Reconciler: reconcile.Func(nil)}
		c.List = func(context.Context) ([]reconcile.Request, error) {
			runs.Add(1)
			return nil, errors.New("no answer")
		}
		r.Engage(t.Context(), "a", Engagement[string]{Run: c.Run})
		<-time.After(defaultRestartDelay + time.Second)
		synctest.Wait()
		if got := runs.Load(); got != 2 {
			t.Errorf("%d runs, want 2", got)
		}
	})
}

// TestMetricsOfEachCluster reads gauges of a cluster that works while another comes and goes.
func TestMetricsOfEachCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		hang := reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			<-ctx.Done()
			return reconcile.Result{}, nil
		})
		engage := func(cluster string) context.CancelFunc {
			ctx, cancel := context.WithCancel(t.Context())
			c := Controller{Name: t.Name(), Cluster: cluster, Reconciler: hang, Queue: &Queue{}, Workers: 1}
			c.Queue.Add(request("works"), request("waits"), request("waits too"))
			r.Engage(ctx, multicluster.ClusterName(cluster), Engagement[string]{Run: c.Run})
			synctest.Wait()
			return cancel
		}
		engage("a")
		end := engage("b")
		<-time.After(10 * time.Second) // Unfinished work is counted now and then.
		for _, cluster := range []string{"a", "b"} {
			got := values(t, t.Name()+"/"+cluster)
			if got["controller_runtime_active_workers"] != 1 || got["workqueue_depth"] != 2 || got["workqueue_unfinished_work_seconds"] < 9 {
				t.Errorf("gauges of %s are %v, want 1 worker, depth 2 and about 10 s of work", cluster, got)
			}
		}
		end()
		synctest.Wait()
		if got := values(t, t.Name()+"/b"); len(got) != 0 {
			t.Errorf("series of a cluster that left: %v", got)
		}
		if got := values(t, t.Name()+"/a"); got["controller_runtime_active_workers"] != 1 || got["workqueue_depth"] != 2 {
			t.Errorf("gauges of the cluster that stays are %v", got)
		}
	})
}

// TestNothingStays disengages a busy cluster a hundred times. A goroutine that stays makes
// synctest fail.
func TestNothingStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			var worked atomic.Int32
			c := Controller{Name: t.Name(), Cluster: "a", Workers: 1, Reconciler: reconcile.Func(
				func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
					worked.Add(1)
					<-ctx.Done()
					return reconcile.Result{}, ctx.Err()
				})}
			c.List = func(context.Context) ([]reconcile.Request, error) {
				return []reconcile.Request{request("x"), request("y"), request("z")}, nil
			}
			r.Engage(ctx, "a", Engagement[string]{Run: c.Run})
			synctest.Wait()
			cancel()
			synctest.Wait()
			if got := worked.Load(); got != 1 {
				t.Fatalf("%d requests were processed, want the one before the end", got)
			}
		}
		if got := values(t, t.Name()+"/a"); len(got) != 0 {
			t.Errorf("series stay: %v", got)
		}
	})
}

// TestAllSeriesAreKnown fails when controller-runtime adds or changes a metric that
// deleteSeries has to know.
func TestAllSeriesAreKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var seen recorder
		c := Controller{Name: t.Name(), Reconciler: &seen, Queue: &Queue{}}
		c.Queue.Add(request("x"))
		go func() { _ = c.Run(ctx) }()
		synctest.Wait()
		if got := len(values(t, t.Name())); got != 15 {
			t.Errorf("controller-runtime has %d metrics of a controller, want 15", got)
		}
		cancel()
		<-time.After(time.Minute)
		if got := values(t, t.Name()); len(got) != 0 {
			t.Errorf("series stay: %v", got)
		}
	})
}

func TestRateLimiterSpreads(t *testing.T) {
	t.Parallel()
	const attempts = 5
	var drawn [attempts][]time.Duration
	for range draws {
		limiter := NewRateLimiter[string](time.Second, 4*time.Second)
		for i := range drawn {
			drawn[i] = append(drawn[i], limiter.When("x"))
		}
		if limiter.Forget("x"); limiter.When("x") >= drawn[attempts-1][0] {
			t.Error("a success does not reset the delay")
		}
	}
	for i := range drawn {
		wantJitter(t, fmt.Sprintf("attempt %d: the delay", i), drawn[i], min(time.Second<<i, 4*time.Second))
	}
}

// draws is how often a time with jitter is drawn. Even draws are less than half as far apart as
// they may be once in 10^13 runs.
const draws = 50

// wantJitter checks that draws of a time are between least and three tenths more, and that they
// are at least half as far apart.
func wantJitter(t *testing.T, what string, drawn []time.Duration, least time.Duration) {
	t.Helper()
	lowest, highest, most := slices.Min(drawn), slices.Max(drawn), least*13/10
	if lowest < least || highest > most {
		t.Errorf("%s is %s to %s, want %s to %s", what, lowest, highest, least, most)
	}
	if highest-lowest < (most-least)/2 {
		t.Errorf("%s is %s to %s, want it spread over %s to %s", what, lowest, highest, least, most)
	}
}

// values returns the sums of the series of a controller, by the name of the metric.
// Metrics that are neither gauges nor counters are 0.
func values(t *testing.T, controller string) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == controller {
					found[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
	}
	return found
}

// fakeCluster is a cluster that is compared and not used.
type fakeCluster struct {
	cluster.Cluster
	id string
}

// slowSource is in sync after five minutes.
type slowSource struct{ source.Source }

func (slowSource) WaitForSync(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Minute):
		return nil
	}
}

// TestSlowSource checks that a controller waits for a source as long as that may take.
func TestSlowSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := false
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		c := Controller{
			Name: "slow", Queue: &Queue{}, Sources: []source.Source{slowSource{(&Queue{}).Source()}},
			Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				started = true
				cancel()
				return reconcile.Result{}, nil
			}),
		}
		c.Queue.Add(request("a"))
		go func() { ended <- c.Run(ctx) }()
		if err := <-ended; err != nil || !started {
			t.Errorf("started: %t, error %v", started, err)
		}
		<-time.After(time.Minute) // Tickers of a queue end at their next tick.
	})
}
