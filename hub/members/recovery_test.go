package members

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// frozenFleet runs a fleet with one member, in a bubble of synctest, until the bubble ends.
func frozenFleet(t *testing.T, api *fakeAPI) *Fleet {
	t.Helper()
	f := start(t, Options{Wrap: func(http.RoundTripper) http.RoundTripper { return api }})
	f.Set("a", Target{Kubeconfig: kubeconfigFor(t, "https://127.0.0.1:1", nil)})
	await(t, f, "a", func(s State) bool { return s.Engaged })
	return f
}

// TestRecovery freezes a member for several times and measures how long after its return it is
// engaged again: a threshold of two probes takes half a second, and the attempt to connect
// that waits for the member's answer begins at most half a period of probes after the one before.
func TestRecovery(t *testing.T) {
	t.Parallel()
	for frozen := 25 * time.Second; frozen < 3*time.Minute; frozen += 3700 * time.Millisecond {
		t.Run(fmt.Sprint(frozen), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := &fakeAPI{uid: "1"}
				f := frozenFleet(t, api)
				api.freeze()
				<-time.After(frozen)
				if state, _ := f.State("a"); state.Engaged {
					t.Fatal("a frozen member is still engaged")
				}
				back := clock.RealClock{}.Now()
				api.thaw()
				await(t, f, "a", func(s State) bool { return s.Engaged })
				const limit = defaultPeriod/2 + time.Second
				if took := (clock.RealClock{}).Since(back); took > limit {
					t.Errorf("engaged %s after its return, want %s at most", took, limit)
				}
			})
		})
	}
}

// TestRecoveryWithAStumble makes a member answer one probe and no second one, as an API server does
// whose etcd is not back yet: it is tried again at once, however long it was away.
func TestRecoveryWithAStumble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &fakeAPI{uid: "1"}
		var probes atomic.Int32
		var back atomic.Bool
		api.fail = func(r *http.Request) int {
			if isProbe(r) && back.Load() && probes.Add(1) == 2 {
				return http.StatusServiceUnavailable
			}
			return 0
		}
		f := frozenFleet(t, api)
		api.freeze()
		<-time.After(5 * time.Minute)
		back.Store(true)
		began := clock.RealClock{}.Now()
		api.thaw()
		await(t, f, "a", func(s State) bool { return s.Engaged })
		const limit = defaultPeriod/2 + 3*time.Second
		if took := (clock.RealClock{}).Since(began); took > limit {
			t.Errorf("engaged %s after its return, want %s at most", took, limit)
		}
	})
}

// TestSlowSync connects members whose list of nodes takes longer than Timeouts.Sync: one that goes
// on, and one that stalls.
func TestSlowSync(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		nodes int
		want  func(State) bool
		most  time.Duration
	}{
		"goes on": {9, func(s State) bool { return s.Engaged }, 4 * time.Minute},
		"stalls": {-1, func(s State) bool {
			return s.Ready.Message == "the cluster could not be set up: cannot list Node in time"
		}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := start(t, Options{
					Wrap: func(http.RoundTripper) http.RoundTripper {
						return &fakeAPI{uid: "1", nodes: tt.nodes, pause: 25 * time.Second}
					},
					Timeouts: Timeouts{Unwatched: time.Hour},
				})
				began := clock.RealClock{}.Now()
				f.Set("a", Target{Kubeconfig: kubeconfigFor(t, "https://127.0.0.1:1", nil)})
				for state, _ := f.State("a"); !tt.want(state); state, _ = f.State("a") {
					if (clock.RealClock{}).Since(began) > tt.most {
						t.Fatalf("after %s: %+v", tt.most, state)
					}
					<-time.After(time.Second)
				}
			})
		})
	}
}
