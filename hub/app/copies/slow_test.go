package copies

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// testSlow: neither a source that the hub's API server does not return, nor a Secret that the member's does not take,
// delays the copy of its application or of another one.
func testSlow(t *testing.T, m *member) {
	t.Helper()
	m.namespace(t)
	for _, inMember := range []bool{false, true} {
		name := map[bool]string{false: "slow-source", true: "slow-secret"}[inMember]
		t.Run(name, func(t *testing.T) {
			known := state.New(clock.RealClock{})
			slow := &slowMember{member: m, informers: &informertest.FakeInformers{Scheme: m.Scheme()}, blocks: inMember, asked: make(chan struct{}, 1)}
			d := New(m, Options{
				Recorder: events.NewFakeRecorder(100), State: known, Record: func(string) Record { return &m.kept }, CallTimeout: time.Hour,
				FanOut:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fanout_seconds", Help: "Fan-out."}, []string{"cluster"}),
				Revisions: revisions.New(nil, nil, known),
				APIReader: interceptor.NewClient(m.WithWatch, interceptor.Funcs{Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
					if _, is := into.(*corev1.Secret); is && !inMember {
						return slow.block(ctx)
					}
					return nil
				}}),
			})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			if err := d.Engage(ctx, "a", slow); err != nil {
				t.Fatal(err)
			}
			go func() { ended <- d.Start(ctx) }()
			defer func() {
				cancel()
				<-ended
			}()
			first := shop(1, 1, "a")
			first.Name, first.UID = name, "u-slow"
			first.Spec.Image, first.Spec.Propagate = "shop:v1", []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
			second := first.DeepCopy()
			second.Name, second.UID, second.Spec.Propagate = name+"-other", "u-other", nil
			m.app = first
			for i, app := range []*v1.EcommerceApp{first, second} {
				if _, _, err := d.Propagation().Observe(ctx, app); err != nil {
					t.Fatal(err)
				}
				d.HandOver(d.DecisionOf(app, &app.Status))
				if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
					return m.WithWatch.Get(ctx, keyOf(app), &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{}}) == nil, nil
				}); err != nil {
					t.Fatalf("the copy of %s was not written: %v", app.Name, err)
				}
				if i == 0 {
					select {
					case <-slow.asked:
					case <-time.After(time.Minute):
						t.Fatal("nothing was propagated")
					}
				}
			}
		})
	}
}
