package copies

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// slowMember is a member with a cache, whose API server answers no write of a Secret.
type slowMember struct {
	*member
	informers *informertest.FakeInformers
	blocks    bool
	asked     chan struct{}
}

func (m *slowMember) GetCache() cache.Cache { return m.informers }

func (m *slowMember) GetClient() client.Client {
	return interceptor.NewClient(m.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			return m.member.GetClient().Get(ctx, key, into, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if named, ok := o.(interface{ GetKind() string }); m.blocks && (!ok || named.GetKind() == "Secret") {
				return m.block(ctx)
			}
			return c.Apply(ctx, o, opts...)
		},
	})
}

func (m *slowMember) block(ctx context.Context) error {
	select {
	case m.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return ctx.Err()
}

// startSlow runs the queues of a slow member, and of a hub whose API server does not return Secrets unless it is the member
// that blocks, until the test ends.
func startSlow(t *testing.T, slow *slowMember) *Dispatcher {
	t.Helper()
	known := state.New(clock.RealClock{})
	d := New(slow.member, Options{
		Recorder: events.NewFakeRecorder(100), State: known, Record: func(string) Record { return &slow.kept }, CallTimeout: time.Hour,
		FanOut:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fanout_seconds", Help: "Fan-out."}, []string{"cluster"}),
		Revisions: revisions.New(nil, nil, known),
		APIReader: interceptor.NewClient(slow.WithWatch, interceptor.Funcs{Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
			if _, is := into.(*corev1.Secret); is && !slow.blocks {
				return slow.block(ctx)
			}
			return nil
		}}),
	})
	ctx, cancel := context.WithCancel(t.Context())
	if err := d.Engage(ctx, "a", slow); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

// awaitCopy hands an application over, as a pass over it does, and waits for its copy.
func (m *slowMember) awaitCopy(t *testing.T, d *Dispatcher, app *v1.EcommerceApp) {
	t.Helper()
	if _, _, err := d.Propagation().Observe(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	d.HandOver(d.DecisionOf(app, &app.Status))
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return m.WithWatch.Get(ctx, keyOf(app), &v1.EcommerceApp{}) == nil, nil
	}); err != nil {
		t.Fatalf("the copy of %s was not written: %v", app.Name, err)
	}
}

// testSlow checks that neither a source that the hub's API server does not return, nor a Secret that the member's
// does not take, delays the copy of its application or of another one.
func testSlow(t *testing.T, m *member) {
	t.Helper()
	m.namespace(t)
	for name, inMember := range map[string]bool{"slow-source": false, "slow-secret": true} {
		t.Run(name, func(t *testing.T) {
			slow := &slowMember{member: m, informers: &informertest.FakeInformers{Scheme: m.Scheme()}, blocks: inMember, asked: make(chan struct{}, 1)}
			d := startSlow(t, slow)
			m.app = shop(1, 1, "a")
			m.app.Name, m.app.UID, m.app.Spec.Image = name, "u-slow", "shop:v1"
			m.app.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
			slow.awaitCopy(t, d, m.app)
			select {
			case <-slow.asked:
			case <-time.After(time.Minute):
				t.Fatal("nothing was propagated")
			}
			for i := range 2 * defaultWorkers {
				other := m.app.DeepCopy()
				other.Name, other.UID = fmt.Sprintf("%s-%d", name, i), types.UID(fmt.Sprint("u-", i))
				slow.awaitCopy(t, d, other)
			}
		})
	}
}
