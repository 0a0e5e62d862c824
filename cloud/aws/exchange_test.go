package aws_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// TestFederatedIsRenewed checks that credentials are exchanged again a minute before they expire.
func TestFederatedIsRenewed(t *testing.T) {
	t.Parallel()
	now := clock.RealClock{}.Now()
	for left, want := range map[time.Duration]int{30 * time.Minute: 1, 59 * time.Second: 3} {
		e, made := newTestEnvAt(t, now.Add(left-time.Hour), hubRole()), 0
		session := connect(t, e.federated(t, &made))
		for range 3 {
			wantIdentity(t, session, assumedARN)
		}
		if made != want {
			t.Errorf("%d tokens were made for credentials that expire in %s, want %d", made, left, want)
		}
	}
}

// TestCallersShareAnExchange checks that a caller that gives up ends neither an exchange nor its other callers.
func TestCallersShareAnExchange(t *testing.T) {
	t.Parallel()
	e, made := newTestEnvAt(t, clock.RealClock{}.Now(), hubRole()), 0
	config := e.federated(t, &made)
	inner, asked, release := config.Token, make(chan struct{}), make(chan struct{})
	config.Token = func(ctx context.Context, audience string) (string, error) {
		if deadline, ok := ctx.Deadline(); !ok || deadline.After(clock.RealClock{}.Now().Add(time.Minute)) {
			t.Error("the exchange has no deadline")
		}
		close(asked)
		<-release
		return inner(ctx, audience)
	}
	session := connect(t, config)
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := session.Access.Identity(ctx)
		gaveUp <- err
	}()
	<-asked
	cancel()
	if err := <-gaveUp; cloud.ClassOf(err) != cloud.ClassTransient || !errors.Is(err, context.Canceled) {
		t.Errorf("%v of the caller that gave up, want class %q", err, cloud.ClassTransient)
	}
	close(release)
	wantIdentity(t, session, assumedARN)
	if made != 1 {
		t.Errorf("%d tokens were made, want 1", made)
	}
}

// TestHangingExchangeIsRepeated checks that an exchange that hangs delays an account, and fails nothing.
func TestHangingExchangeIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, made := newTestEnvAt(t, clock.RealClock{}.Now(), hubRole()), 0
		session := connect(t, e.federated(t, &made))
		e.script.Add(faults.Fault{Op: faults.OpOther, Kind: faults.Hang})
		began := clock.RealClock{}.Now()
		wantIdentity(t, session, assumedARN)
		if took := (clock.RealClock{}).Since(began); made != 2 || took != 15*time.Second {
			t.Errorf("%d tokens were made in %s, want 2 in 15s", made, took)
		}
		e.script.Add(faults.Fault{Op: faults.OpOther, Kind: faults.Hang, Times: -1})
		_, err := connect(t, e.federated(t, &made)).Access.Identity(t.Context())
		if cloud.ClassOf(err) != cloud.ClassTransient || made != 4 {
			t.Errorf("%d tokens were made, %v; want class %q after two exchanges", made, err, cloud.ClassTransient)
		}
	})
}
