package members_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// cyclesVariable is the environment variable with the number of members that testCycles registers.
const cyclesVariable = "SHOPFLEET_CYCLES"

// testCycles registers members with a hub of all controllers, one after the other, each with a name and
// an address of its own. Each gets an application, is lost, and leaves; every other one returns before.
// What the process holds must not grow from the first third of the samples to the last.
func (s *suite) testCycles(t *testing.T) {
	s.awaitGone(t)
	cycles := 8
	if text := os.Getenv(cyclesVariable); text != "" {
		var err error
		if cycles, err = strconv.Atoi(text); err != nil || cycles < 8 {
			t.Fatalf("%s is %q, want the number of members, at least 8", cyclesVariable, text)
		}
	}
	for _, member := range s.env.Members { // Another hub may have managed it.
		record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubRecord}}
		if err := member.Delete(t.Context(), record); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	s.env.StartHub(t)
	defer s.env.StopHub()
	var samples []sample
	for cycle := 0; cycle < cycles; cycle += 2 {
		var group sync.WaitGroup
		for i, name := range []string{"eu-1", "us-1"} {
			group.Go(func() { s.cycle(t, s.Member(name), cycle+i) })
		}
		group.Wait()
		if t.Failed() {
			t.Fatalf("cycle %d failed", cycle)
		}
		samples = append(samples, s.takeSample(t))
	}
	checkGrowth(t, samples)
}

// cycle registers a cluster under a name of the cycle, and takes it away again.
func (s *suite) cycle(t *testing.T, cluster *fleet.Cluster, number int) {
	t.Helper()
	name := fmt.Sprintf("member-%d", number)
	f, err := forward(t.Context(), cluster.Server())
	if err != nil {
		t.Error(err)
		return
	}
	defer f.cut()
	one := int32(1)
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.MemberClusterSpec{
		Health: v1.Health{ProbePeriodSeconds: &one, FailureThreshold: &one, SuccessThreshold: &one},
	}}
	kubeconfig := strings.ReplaceAll(string(s.kubeconfig(t, cluster)), cluster.Server(), "https://"+f.address)
	secret := framework.Registration(name, []byte(kubeconfig))
	for _, object := range []client.Object{m, secret} {
		if err := s.hub.Create(t.Context(), object); err != nil {
			t.Error(err)
			return
		}
	}
	s.await(t, name, v1.ConditionReady, metav1.ConditionTrue, "")
	app := framework.Small("cycles", name, name)
	app.Spec.Frontend.Replicas = new(int32(0))
	framework.Create(t, s.hub, app)
	framework.AwaitApp(t, s.hub, app, "to be applied", func(status *v1.EcommerceAppStatus) error {
		if status.Phase != v1.PhaseRunning {
			return errors.New("not running")
		}
		return nil
	})
	s.awaitSeries(t, "shopfleet_member_ready", "member", name, 1)
	s.awaitSeries(t, "shopfleet_app_ready", "cluster", name, 1)
	framework.Delete(t, s.hub, app)
	s.awaitSeries(t, "shopfleet_app_", "app", name, 0)
	f.cut()
	s.await(t, name, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonProbeFailed)
	if number%4 < 2 {
		if err := f.listen(t.Context()); err != nil {
			t.Error(err)
			return
		}
		s.await(t, name, v1.ConditionReady, metav1.ConditionTrue, "")
	}
	s.delete(t, secret)
	framework.Delete(t, s.hub, m)
	s.awaitSeries(t, "shopfleet_", "", name, 0)
}

// awaitSeries waits until this process has so many series of metrics that begin with a prefix and
// have a label with a value; the label may be any if its name is empty.
func (s *suite) awaitSeries(t *testing.T, prefix, label, value string, want int) {
	t.Helper()
	framework.Eventually(t, fmt.Sprintf("%d series %s of %s", want, prefix, value), func(context.Context) error {
		families, err := s.env.Metrics()
		if err != nil {
			return err
		}
		var series []*dto.Metric
		for _, family := range families {
			if strings.HasPrefix(family.GetName(), prefix) {
				series = append(series, family.GetMetric()...)
			}
		}
		series = slices.DeleteFunc(series, func(m *dto.Metric) bool {
			return !slices.ContainsFunc(m.GetLabel(), func(pair *dto.LabelPair) bool {
				return pair.GetValue() == value && (label == "" || pair.GetName() == label)
			})
		})
		if len(series) != want {
			return fmt.Errorf("there are %d: %v", len(series), series)
		}
		return nil
	})
}

// sample counts what the process holds between two cycles.
type sample struct {
	at                                    time.Time
	goroutines, descriptors, series, heap int
}

// takeSample counts what the process holds after a garbage collection. The heap is in bytes. There are
// no descriptors where the system does not list them.
func (s *suite) takeSample(t *testing.T) sample {
	t.Helper()
	families, err := s.env.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	taken := sample{at: time.Now()}
	for _, family := range families {
		taken.series += len(family.Metric)
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		taken.descriptors = len(open)
	}
	runtime.GC()
	runtime.GC() // What the first one finalized.
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	taken.heap, taken.goroutines = int(memory.HeapAlloc), runtime.NumGoroutine()
	return taken
}

// connectionsHeld is longer than net/http holds the buffers of a closed connection: until its idle
// timeout, which is 90 s.
const connectionsHeld = 100 * time.Second

// checkGrowth compares the medians of the first third of the samples with those of the last third,
// without those before as many closed connections are let go as are held; in a short run, without
// the first sample.
func checkGrowth(t *testing.T, samples []sample) {
	t.Helper()
	steady := slices.IndexFunc(samples, func(s sample) bool { return s.at.Sub(samples[0].at) > connectionsHeld })
	samples = samples[max(1, steady):]
	third := max(1, len(samples)/3)
	first, last := samples[:third], samples[len(samples)-third:]
	for _, each := range []struct {
		what  string
		slack int
		of    func(sample) int
	}{
		{"goroutines", 30, func(s sample) int { return s.goroutines }},
		{"descriptors", 10, func(s sample) int { return s.descriptors }},
		{"series", 10, func(s sample) int { return s.series }},
		{"bytes of live heap", 4 << 20, func(s sample) int { return s.heap }},
	} {
		before, after := median(first, each.of), median(last, each.of)
		t.Logf("%s: %d, in the end %d", each.what, before, after)
		if after > before+each.slack {
			t.Errorf("%s grew from %d to %d: %+v", each.what, before, after, samples)
		}
	}
}

func median(samples []sample, of func(sample) int) int {
	var all []int
	for _, s := range samples {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// forwarder is a port that leads to an API server while it is not cut. It keeps nothing of
// what it forwarded.
type forwarder struct {
	target, address string

	mu       sync.Mutex
	listener net.Listener // nil while the forwarder is cut
	open     map[net.Conn]bool
	group    sync.WaitGroup
}

// forward starts a forwarder to a server.
func forward(ctx context.Context, server string) (*forwarder, error) {
	target, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	f := &forwarder{target: target.Host, address: "127.0.0.1:0", open: map[net.Conn]bool{}}
	return f, f.listen(ctx)
}

// listen accepts connections, after cut on the same port as before.
func (f *forwarder) listen(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.address)
	if err != nil {
		return err
	}
	f.listener, f.address = listener, listener.Addr().String()
	f.group.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			f.connect(ctx, from)
		}
	})
	return nil
}

// connect forwards a connection, unless the forwarder is cut.
func (f *forwarder) connect(ctx context.Context, from net.Conn) {
	to, err := (&net.Dialer{}).DialContext(ctx, "tcp", f.target)
	if err != nil {
		_ = from.Close()
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listener == nil {
		_, _ = from.Close(), to.Close()
		return
	}
	f.open[from], f.open[to] = true, true
	f.group.Go(func() { f.copy(from, to) })
	f.group.Go(func() { f.copy(to, from) })
}

// copy copies until one of two connections ends, and closes both.
func (f *forwarder) copy(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range []net.Conn{from, to} {
		_ = c.Close()
		delete(f.open, c)
	}
}

// cut ends all connections, and refuses others until listen. It blocks until nothing of them is left.
func (f *forwarder) cut() {
	f.mu.Lock()
	if f.listener != nil {
		_ = f.listener.Close()
		f.listener = nil
	}
	for c := range f.open {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.group.Wait()
}
