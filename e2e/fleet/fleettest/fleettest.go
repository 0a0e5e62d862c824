package fleettest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/fleet"
)

// KeepVariable is the environment variable that has a failed test keep its data.
const KeepVariable = "SHOPFLEET_KEEP"

// TimeoutVariable is the environment variable that has Eventually wait for another time than Timeout, where a test is
// expected to fail.
const TimeoutVariable = "SHOPFLEET_TIMEOUT"

// Timeout is a generous bound for anything a healthy fleet does, several controllers one after the other included:
// a busy machine may take long, and a test that passes never waits for it.
const Timeout = 4 * time.Minute

const (
	// The time between two checks grows from the first to the last: what happens soon is
	// seen soon, and a long wait does not keep an API server busy.
	firstPoll   = 10 * time.Millisecond
	lastPoll    = 100 * time.Millisecond
	stopTimeout = 30 * time.Second
)

// Start starts a fleet that ends with the test. Without Options.Dir and
// Options.Progress, it uses a temporary folder and the test's standard error.
func Start(t testing.TB, options fleet.Options) *fleet.Fleet {
	t.Helper()
	if options.Progress == nil {
		options.Progress = os.Stderr
	}
	keep := os.Getenv(KeepVariable) != "" && options.Dir == ""
	if keep {
		options.Dir = keptDir(t.Fatalf)
	}
	f, err := fleet.Start(t.Context(), options)
	if err != nil {
		t.Fatalf("starting a fleet: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			report(t, f)
		}
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), stopTimeout)
		defer cancel()
		if err := f.Stop(ctx); err != nil {
			t.Errorf("stopping the fleet: %v", err)
		}
		finish(t, f.Dir(), keep)
	})
	return f
}

// keptDir makes a folder that outlives the test, unlike the test's own ones.
func keptDir(fail func(string, ...any)) string {
	dir, err := os.MkdirTemp("", "shopfleet-kept-")
	if err != nil {
		fail("creating a folder to keep: %v", err)
	}
	return dir
}

// report prints the health and the warnings of the fleet, before its logs are deleted.
func report(t testing.TB, f *fleet.Fleet) {
	t.Helper()
	for _, cluster := range f.Clusters() {
		t.Log(cluster.Diagnosis())
	}
}

// finish prints where the logs are, or removes them.
func finish(t testing.TB, dir string, keep bool) {
	t.Helper()
	switch {
	case keep && t.Failed():
		t.Logf("logs, audit logs and data of the fleet are kept in %s", dir)
	case keep:
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing the fleet's folder: %v", err)
		}
	case t.Failed():
		t.Logf("the rest of the fleet's logs is gone: run again with %s=1 to keep all", KeepVariable)
	}
}

// Eventually repeats the check until it returns nil, and fails the test when it
// does not within Timeout, or the time that TimeoutVariable gives. The message names what was waited for and the check's
// last error.
func Eventually(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	timeout := Timeout
	if text := os.Getenv(TimeoutVariable); text != "" {
		var err error
		if timeout, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", TimeoutVariable, err)
		}
	}
	Within(t, timeout, what, check)
}

// Within does the same as Eventually, with another bound.
func Within(t testing.TB, timeout time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var last error
	for interval := firstPoll; ; interval = min(interval*5/4, lastPoll) {
		err := check(ctx)
		if err == nil {
			return
		}
		// The last error before the timeout says more than the timeout.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s for %s: %v", timeout, what, last)
		case <-time.After(interval):
		}
	}
}
