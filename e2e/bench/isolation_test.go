package bench_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/faults"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// healthy is the number of members that are measured, beside the faulty one.
	healthy = 7
	// defaultSamples is the least number of samples in a phase. Each change of an application is one
	// sample in each member that is measured. With fewer, the 99th percentile is the slowest, and is not judged.
	defaultSamples = 300
	// isolationLimit is the most that a faulty member may add to the 99th percentile of
	// the others.
	isolationLimit = 1.5
	faulty         = "faulty"
)

// BenchmarkIsolation reports how long a change of an application takes to the copies in
// seven healthy members while the eighth has a fault, as ratios to the times without a
// fault before and after it. It fails if the 99th percentile is more than 1.5 times as
// high. Then it does the same with the repair of drift while the hub's own API server is slow,
// and at last half of the members are frozen and return together.
func BenchmarkIsolation(b *testing.B) {
	chosen := choose(b, faultsVariable, []figure[*isolation]{
		{"frozen", (*isolation).freeze, (*isolation).thaw},
		{"tar-pitted", (*isolation).trickle, (*isolation).removeFault},
		{"latency-5s", (*isolation).delay, (*isolation).removeFault},
		{"forbidden", (*isolation).takePermissions, (*isolation).givePermissions},
		{"flapping", (*isolation).flap, (*isolation).settle},
		{"slow-hub", (*isolation).measureSlowHub, nil},
		{"half", (*isolation).measureHalf, nil},
	})
	f := newIsolation(b)
	for b.Loop() {
		for _, each := range chosen {
			if each.undo == nil {
				each.measure(f, b)
			} else {
				f.compareWith(b, each)
			}
		}
	}
}

// compareWith compares the members without a fault while the other one has it with themselves before and after.
func (i *isolation) compareWith(b *testing.B, fault figure[*isolation]) {
	b.Helper()
	before := i.samples(b)
	fault.measure(i, b)
	during := i.samples(b)
	fault.undo(i, b)
	i.AwaitMembers(b, faulty)
	compare(b, fault.name, during, slices.Concat(before, i.samples(b)))
}

// compare reports the ratio of two 99th percentiles, and fails if it is above isolationLimit.
func compare(b *testing.B, fault string, during, baseline []time.Duration) {
	b.Helper()
	ratio := float64(percentile(during, 99)) / float64(percentile(baseline, 99))
	b.Logf("%-11s p50 %7.1f ms, p99 %7.1f ms; without the fault p50 %7.1f ms, p99 %7.1f ms; ratio of p99 %.2f, %d samples",
		fault, milliseconds(percentile(during, 50)), milliseconds(percentile(during, 99)),
		milliseconds(percentile(baseline, 50)), milliseconds(percentile(baseline, 99)), ratio, len(during))
	b.ReportMetric(ratio, "x-p99-"+fault)
	if ratio > isolationLimit && len(during) >= defaultSamples {
		b.Errorf("the fault %s multiplies the 99th percentile of the others by %.2f", fault, ratio)
	}
}

// isolation is a fleet of which the hub and one member are behind proxies.
type isolation struct {
	*framework.Environment
	app        *v1.EcommerceApp
	hub, proxy *faults.Proxy
	// fault is the one that is injected; nil if none is.
	fault *faults.Fault
	// stopped ends the flapping.
	stopFlapping func()
	// measured are the members without a fault.
	measured []string
	// seen has the changes that watches of the members report.
	seen  chan sighting
	count int
}

// sighting is a change of the application in a member.
type sighting struct{ member, value string }

func newIsolation(b *testing.B) *isolation {
	b.Helper()
	names := []string{faulty}
	for i := range healthy {
		names = append(names, fmt.Sprintf("healthy-%d", i+1))
	}
	options := framework.Options{Health: framework.Health()}
	options.Fleet.Hub = fleet.ClusterSpec{Name: "hub", APIServerOnly: true}
	for _, name := range names {
		options.Fleet.Members = append(options.Fleet.Members, fleet.ClusterSpec{Name: name, APIServerOnly: true})
	}
	f := &isolation{measured: names[1:], seen: make(chan sighting, healthy)}
	options.Kubeconfig = func(t testing.TB, cluster string, kubeconfig []byte) []byte {
		t.Helper()
		if cluster == options.Fleet.Hub.Name {
			kubeconfig = through(t, f.hub, kubeconfig)
		}
		return kubeconfig
	}
	f.Environment = framework.New(b, options)
	f.hub = front(b, f.Fleet.Hub())
	f.StartHub(b)
	f.Register(b, names[1:]...)
	f.registerFaulty(b)
	f.AwaitMembers(b, names...)
	f.app = framework.Small("isolation", "shop", names...)
	f.app.Spec.Backend.Replicas = new(int32(1)) // Without an image there is no backend.
	framework.Create(b, f.Hub, f.app)
	framework.Create(b, f.Hub, framework.Small(idleNamespace, "shop", names...))
	for _, name := range names[1:] {
		f.follow(b, name)
	}
	f.change(b)
	return f
}

// registerFaulty registers the member that gets the faults by its proxy.
func (i *isolation) registerFaulty(b *testing.B) {
	b.Helper()
	c := i.Fleet.Member(faulty)
	i.proxy = front(b, c)
	kubeconfig := through(b, i.proxy, framework.Kubeconfig(b, c, config.HubServiceAccount))
	for _, object := range []client.Object{
		&v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: faulty}, Spec: v1.MemberClusterSpec{Health: framework.Health()}},
		framework.Registration(faulty, kubeconfig),
	} {
		framework.Create(b, i.Hub, object)
	}
}

// front starts a proxy in front of the API server of a cluster.
func front(b *testing.B, c *fleet.Cluster) *faults.Proxy {
	b.Helper()
	return faults.Start(b, faults.Target{Server: c.Server(), Authority: c.AdminConfig().CAData})
}

// through returns a kubeconfig with a proxy in place of its server.
func through(t testing.TB, p *faults.Proxy, kubeconfig []byte) []byte {
	t.Helper()
	kubeconfig, err := p.Kubeconfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// follow sends each change of the copy in a member to seen.
func (i *isolation) follow(b *testing.B, member string) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	w, err := i.Members[member].Watch(ctx, &v1.EcommerceAppList{}, client.InNamespace(i.app.Namespace))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cancel()
		w.Stop()
	})
	go func() {
		last := ""
		for event := range w.ResultChan() {
			copied, ok := event.Object.(*v1.EcommerceApp)
			if !ok || event.Type == watch.Deleted {
				continue
			}
			if now := copied.Annotations[v1.ReconcileAtAnnotation]; now != "" && now != last {
				last = now
				i.seen <- sighting{member, now}
			}
		}
	}()
}

// samples changes the application again and again, and returns the time that each change
// took to each member that is measured.
func (i *isolation) samples(b *testing.B) []time.Duration {
	b.Helper()
	var all []time.Duration
	for len(all) < number(b, samplesVariable, defaultSamples) {
		all = append(all, i.change(b)...)
	}
	return all
}

// change changes an annotation that reaches the copies and no child of them.
func (i *isolation) change(b *testing.B) []time.Duration {
	b.Helper()
	i.count++
	value := fmt.Sprint(i.count)
	began := time.Now()
	i.patch(b, i.app, `{"metadata":{"annotations":{%q:%q}}}`, v1.ReconcileAtAnnotation, value)
	var took []time.Duration
	limit := time.After(time.Minute)
	for len(took) < len(i.measured) {
		select {
		case seen := <-i.seen:
			if seen.value == value && slices.Contains(i.measured, seen.member) {
				took = append(took, time.Since(began))
			}
		case <-limit:
			b.Fatalf("change %s has reached %d of %d members after a minute", value, len(took), len(i.measured))
		}
	}
	return took
}

// patch changes an application on the hub.
func (i *isolation) patch(b *testing.B, app *v1.EcommerceApp, format string, values ...any) {
	b.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, values...))
	if err := i.Hub.Patch(b.Context(), app.DeepCopy(), patch); err != nil {
		b.Fatal(err)
	}
}

func (i *isolation) trickle(*testing.B) {
	i.fault = i.proxy.Inject(faults.Match{}, faults.Trickle(100*time.Millisecond))
}

func (i *isolation) delay(*testing.B) {
	i.fault = i.proxy.Inject(faults.Match{}, faults.Delay(5*time.Second))
}

func (i *isolation) removeFault(*testing.B) {
	i.fault.Remove()
	i.fault = nil
}

func (i *isolation) freeze(b *testing.B) {
	b.Helper()
	if err := i.Fleet.Member(faulty).Freeze(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func (i *isolation) thaw(b *testing.B) {
	b.Helper()
	if err := i.Fleet.Member(faulty).Thaw(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// takePermissions makes the member answer 403 to everything but reviews.
func (i *isolation) takePermissions(b *testing.B) {
	b.Helper()
	if err := i.Members[faulty].DeleteAllOf(b.Context(), &rbacv1.ClusterRoleBinding{}, client.MatchingLabels{v1.PartOfLabel: "shopfleet"}); err != nil {
		b.Fatal(err)
	}
}

func (i *isolation) givePermissions(b *testing.B) {
	b.Helper()
	framework.Apply(b, i.Fleet.Member(faulty), framework.MemberManifests)
}

// flap cuts the member off for a second in every two.
func (i *isolation) flap(b *testing.B) {
	b.Helper()
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			for _, next := range []func(){i.proxy.Partition, i.proxy.Heal} {
				next()
				select {
				case <-ended:
					i.proxy.Heal()
					return
				case <-time.After(time.Second):
				}
			}
		}
	}()
	i.stopFlapping = func() {
		close(ended)
		<-done
	}
}

func (i *isolation) settle(*testing.B) { i.stopFlapping() }

// percentile returns the nearest rank of a percentile between 1 and 100.
func percentile(all []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)*p+99)/100-1]
}
