package backup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
)

// TestHolds: a hold ends by a pass, at its deadline or with the process, whatever comes first.
func TestHolds(t *testing.T) {
	t.Parallel()
	key := types.NamespacedName{Namespace: "shops", Name: "b"}
	for name, tt := range map[string]struct {
		end  func(*holds, *testclock.FakeClock, context.CancelFunc)
		want holdState
	}{
		"released":  {func(h *holds, _ *testclock.FakeClock, _ context.CancelFunc) { h.release(key) }, released},
		"forgotten": {func(h *holds, _ *testclock.FakeClock, _ context.CancelFunc) { h.forget(key) }, noHold},
		"deadline":  {func(_ *holds, c *testclock.FakeClock, _ context.CancelFunc) { c.Step(holdLimit) }, expired},
		"stopped":   {func(_ *holds, _ *testclock.FakeClock, stop context.CancelFunc) { stop() }, quiesced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkHold(t, tt.end, tt.want)
		})
	}
}

// checkHold expects the state of a hold of a quiesced database after its end.
func checkHold(t *testing.T, end func(*holds, *testclock.FakeClock, context.CancelFunc), want holdState) {
	t.Helper()
	key := types.NamespacedName{Namespace: "shops", Name: "b"}
	clock, woken, ended := testclock.NewFakeClock(now()), make(chan struct{}, 1), make(chan struct{})
	h := &holds{clock: clock, wake: func(types.NamespacedName) { woken <- struct{}{} }}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- h.Start(ctx) }()
	quiesce := func(context.Context) (func(), error) { return func() { close(ended) }, nil }
	if state, err := h.begin(ctx, key, "b-1", quiesce); state != quiescing || err != nil {
		t.Fatalf("%s: %v", state, err)
	}
	await(t, woken)
	if state, _ := h.begin(ctx, key, "b-1", quiesce); state != quiesced {
		t.Fatalf("it is %s after it was confirmed", state)
	}
	fleettest.Eventually(t, "the deadline to be watched", func(context.Context) error {
		if !clock.HasWaiters() {
			return errors.New("no timer waits")
		}
		return nil
	})
	end(h, clock, stop)
	await(t, ended)
	if state := h.state(key); state != want {
		t.Errorf("it is %q at the end, want %q", state, want)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if state, err := h.begin(t.Context(), key, "b-2", quiesce); state != refused || !errors.Is(err, errStopping) {
		t.Errorf("a hub that has stopped begins again: %s, %v", state, err)
	}
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(fleettest.Timeout):
		t.Fatal("waited for too long")
	}
}

// shop is an environment with a database that can be quiesced.
type shop struct {
	*backupenv.Env
	// backups is how many were created.
	backups int
	refuses error
	// holding is how many holds there are.
	holding atomic.Int32
	// silent has the database wait before it confirms.
	silent chan struct{}
}

func (s *shop) quiesce(ctx context.Context, _ cluster.Cluster, _ *v1.EcommerceApp) (func(), error) {
	select {
	case <-s.silent:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.refuses != nil {
		return nil, s.refuses
	}
	s.holding.Add(1)
	return func() { s.holding.Add(-1) }, nil
}

func (s *shop) reconciler(p *backupenv.Process) *Reconciler {
	return NewReconciler(p.Client, Options{
		HubUID: backupenv.HubUID, Accounts: p.Accounts, Member: p.Member, Quiesce: s.quiesce, Clock: s.Clock, Recorder: events.NewFakeRecorder(100),
	})
}

// quiesces: a backup is application consistent if its snapshot was taken during one
// hold, and no pass waits for the database.
func (s *shop) quiesces(t *testing.T) {
	const intent = 2 // The first change is the finalizer; then the status says that the database is waited for.
	for name, tt := range map[string]struct {
		taken   time.Duration
		refuses error
		crash   backupenv.Crash
		want    v1.Consistency
	}{
		"taken at once":              {want: v1.ConsistencyApplication},
		"taken during the hold":      {taken: holdLimit / 2, want: v1.ConsistencyApplication},
		"taken after the deadline":   {taken: 2 * holdLimit, want: v1.ConsistencyCrash},
		"refused":                    {refuses: errors.New("no"), want: v1.ConsistencyCrash},
		"hub ends while it quiesces": {crash: backupenv.Crash{At: intent, Arrives: true}, want: v1.ConsistencyApplication},
		"hub ends before the intent": {crash: backupenv.Crash{At: intent + 1}, want: v1.ConsistencyApplication},
		"hub ends after the intent":  {crash: backupenv.Crash{At: intent + 1, Arrives: true}, want: v1.ConsistencyCrash},
		"hub ends after the request": {crash: backupenv.Crash{At: intent + 2, Arrives: true}, want: v1.ConsistencyCrash},
	} {
		t.Run(name, func(t *testing.T) {
			s.Cloud.SetPace(fake.Pace{Taken: tt.taken, Ready: tt.taken})
			s.Clock.Step(time.Hour)
			s.refuses, s.silent = tt.refuses, make(chan struct{}, 10)
			s.backups++
			b := apitest.Backup(fmt.Sprintf("quiesced-%d", s.backups)).Namespace(backupenv.Namespace).Obj()
			s.MustCreate(t, b)
			key := client.ObjectKeyFromObject(b)
			if tt.crash.At > 0 {
				s.run(t, s.NewProcess(tt.crash), key)
			}
			s.run(t, s.NewProcess(backupenv.Crash{}), key)
			if got := s.Backup(t, b.Name).Status.Consistency; got != tt.want {
				t.Errorf("it is %s consistent, want %s", got, tt.want)
			}
		})
	}
}

// run works on a Backup until it is complete, or the process ends, and checks
// that it leaves no database quiesced.
func (s *shop) run(t *testing.T, p *backupenv.Process, key client.ObjectKey) {
	t.Helper()
	r := s.reconciler(p)
	confirm := sync.OnceFunc(func() { s.silent <- struct{}{} })
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- r.holds.Start(ctx) }()
	defer func() {
		stop()
		if err := <-stopped; err != nil || s.holding.Load() != 0 {
			t.Errorf("%d databases are held: %v", s.holding.Load(), err)
		}
	}()
	p.Run(t, r, key, func() bool {
		if r.holds.state(key) == quiescing {
			confirm()
			fleettest.Eventually(t, "the database to confirm", func(context.Context) error {
				if state := r.holds.state(key); state == quiescing {
					return fmt.Errorf("it is %s", state)
				}
				return nil
			})
		}
		return Done(s.Backup(t, key.Name))
	})
}
