package backupenv

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// The variables of package crashpoints also choose the crashes of TestCrashes: all, or without the
// first every third one, others each day. Those have no keys.
const (
	pointsVariable = "SHOPFLEET_CRASHPOINTS"
	seedVariable   = "SHOPFLEET_CRASHPOINTS_SEED"
	everything     = "all"
)

var errCrash = errors.New("want all, or nothing for a sample")

// takesAll reports whether a value of pointsVariable chooses all crashes. It fails for one that chooses
// points of other tests.
func takesAll(value string) (bool, error) {
	if value != "" && value != everything {
		return false, fmt.Errorf("%s=%q: %w", pointsVariable, value, errCrash)
	}
	return value == everything, nil
}

// Crash represents the point at which a process ends: a request that changes something in
// the API server or in the cloud, counted from 1. The zero value never ends a process.
type Crash struct {
	At int
	// Request is the request, for messages.
	Request string
	// Arrives means that the request has its effect, and the process ends before the answer.
	Arrives bool
}

// String describes the crash as the name of a subtest.
func (c Crash) String() string {
	when := "before"
	if c.Arrives {
		when = "after"
	}
	return fmt.Sprintf("%d %s %s", c.At, when, c.Request)
}

// Arrived returns the requests of the process that ended by the crash which had an effect.
func (c Crash) Arrived(sent []string) []string {
	if c.Arrives {
		return sent
	}
	return sent[:c.At-1]
}

// Crashes returns the crashes at each request that a process sent. Of a pass, only the first
// request has one before it: an end before any other leaves what an end after the last one
// does, because nothing else changes anything in between.
func (p *Process) Crashes() []Crash {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Crash, 0, len(p.sent)+len(p.passes))
	for i, request := range p.sent {
		if slices.Contains(p.passes, i) {
			all = append(all, Crash{At: i + 1, Request: request})
		}
		all = append(all, Crash{At: i + 1, Request: request, Arrives: true})
	}
	return all
}

// CrashTest is work of a hub that crashes, and what the next hub makes of it.
type CrashTest struct {
	// Reconciler returns the reconciler of a process.
	Reconciler func(p *Process) reconcile.Reconciler
	// Create creates the object that a hub works on until Done.
	Create func(t *testing.T) client.ObjectKey
	Done   func(t *testing.T, key client.ObjectKey) bool
	// Crashed changes something before the next hub starts. Optional.
	Crashed func(t *testing.T, key client.ObjectKey)
	// Recovered ends the work of the next hub; without it, Done does.
	Recovered func(t *testing.T, key client.ObjectKey) bool
	// Check checks the outcome by the requests of both hubs that had an effect.
	Check func(t *testing.T, key client.ObjectKey, sent []string)
	// Lost limits the crashes to those after one request. Optional.
	Lost string
}

// TestCrashes runs the test with an object of its own for each crash of the sample.
func (e *Env) TestCrashes(t *testing.T, test CrashTest) {
	t.Helper()
	run := func(t *testing.T, p *Process, key client.ObjectKey, done func(*testing.T, client.ObjectKey) bool) bool {
		t.Helper()
		return p.Run(t, test.Reconciler(p), key, func() bool { return done(t, key) })
	}
	all := e.NewProcess(t, Crash{})
	run(t, all, test.Create(t), test.Done)
	if len(all.Sent()) == 0 {
		t.Fatal("no request changes anything")
	}
	if test.Recovered == nil {
		test.Recovered = test.Done
	}
	seed := fleettest.Seed(t, seedVariable)
	complete, err := takesAll(os.Getenv(pointsVariable))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { t.Logf("The same crashes again: %s=%d; all: %s=all", seedVariable, seed, pointsVariable) })
	const days = 3 // It takes as many until samples had all crashes.
	if test.Lost != "" && !slices.Contains(all.Sent(), test.Lost) {
		t.Fatalf("no request is %q, only %q", test.Lost, all.Sent())
	}
	for i, crash := range all.Crashes() {
		chosen := complete || uint64(i)%days == seed%days
		if test.Lost != "" {
			chosen = crash.Arrives && crash.Request == test.Lost
		}
		if !chosen {
			continue
		}
		t.Run(crash.String(), func(t *testing.T) {
			key, p, next := test.Create(t), e.NewProcess(t, crash), e.NewProcess(t, Crash{})
			if run(t, p, key, test.Done) {
				t.Fatalf("the hub did not end: %q", p.Sent())
			}
			if test.Crashed != nil {
				test.Crashed(t, key)
			}
			run(t, next, key, test.Recovered)
			test.Check(t, key, append(crash.Arrived(p.Sent()), next.Sent()...))
		})
	}
}

// Count returns how many requests of a kind were sent.
func Count(sent []string, request string) int {
	return len(sent) - len(slices.DeleteFunc(slices.Clone(sent), func(s string) bool { return s == request }))
}

// Gone reports whether an object does not exist.
func (e *Env) Gone(t *testing.T, key client.ObjectKey, o client.Object) bool {
	t.Helper()
	err := e.Get(t.Context(), key, o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return apierrors.IsNotFound(err)
}
