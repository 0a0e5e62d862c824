package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestPriorities adds requests in turn: "a", and "-a" with low priority. "!" takes one out and processes
// it, "?" takes one out that is processed until "." or the end.
func TestPriorities(t *testing.T) {
	t.Parallel()
	many := func(from, to int) string {
		var all []string
		for i := from; i < to; i++ {
			all = append(all, fmt.Sprint("r", i))
		}
		return strings.Join(all, " ")
	}
	tests := map[string]struct{ steps, want string }{
		"low priority waits":                {"-a -b c", "c a b"},
		"in order of arrival":               {"-a b -c d", "b d a c"},
		"one that waits moves up":           {"-a -b -c b", "b a c"},
		"one that has moved up stays there": {"-a -c a -c -a", "a c"},
		"and is served once":                {"-a c a c -a", "c a"},
		"a resync lowers nothing":           {"a -b -a", "a b"},
		"served, and low again":             {"-a -b a ! -a", "b a"},
		"added while it is processed":       {"a -b -c ? a -a . ", "a b c"},
		"and before that in a resync":       {"a -b -c ? -a a .", "a b c"},
		"in a resync alone":                 {"a -b ? -a c .", "c b a"},
		"resyncs go on":                     {"-a -b " + many(0, 40), many(0, 16) + " a " + many(16, 32) + " b " + many(32, 40)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newPriorityQueue("", NewRateLimiter[reconcile.Request](time.Second, time.Minute))
			t.Cleanup(q.ShutDown)
			var processed reconcile.Request
			for step := range strings.FieldsSeq(tt.steps) {
				switch name, isLow := strings.CutPrefix(step, "-"); {
				case step == "!":
					took, _ := q.Get()
					q.Done(took)
				case step == "?":
					processed, _ = q.Get()
				case step == ".":
					q.Done(processed)
				case isLow:
					AddLowPriority(q, request(name))
				default:
					q.Add(request(name))
				}
			}
			var got []string
			for q.Len() > 0 {
				took, _ := q.Get()
				q.Done(took)
				got = append(got, took.Name)
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.steps, got, tt.want)
			}
		})
	}
}

// TestDelayed checks that requests that are delayed arrive.
func TestDelayed(t *testing.T) {
	t.Parallel()
	q, ok := newPriorityQueue("", NewRateLimiter[reconcile.Request](time.Nanosecond, time.Nanosecond)).(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		t.Fatal("the handlers of controller-runtime find no priorities")
	}
	t.Cleanup(q.ShutDown)
	low := -1
	q.AddWithOpts(priorityqueue.AddOpts{After: time.Nanosecond, Priority: &low}, request("a"))
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: &low}, request("b"))
	got := map[string]bool{}
	for range 2 {
		took, _, _ := q.GetWithPriority()
		got[took.Name] = true
	}
	if diff := cmp.Diff(map[string]bool{"a": true, "b": true}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestDelayedResync checks that a request that was delayed with low priority is behind others when it arrives, unless
// it is added by an event before.
func TestDelayedResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newPriorityQueue("", NewRateLimiter[reconcile.Request](time.Second, time.Minute))
		delay := func(name string, after time.Duration, priority int) {
			q.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(priorityqueue.AddOpts{After: after, Priority: &priority}, request(name))
		}
		delay("resync", time.Second, -1)
		delay("with an event", time.Minute, -1)
		delay("retry", 2*time.Second, 0)
		<-time.After(3 * time.Second)
		q.Add(request("with an event"))
		var got []string
		for q.Len() > 0 {
			took, _ := q.Get()
			q.Done(took)
			got = append(got, took.Name)
		}
		q.ShutDown()
		<-time.After(time.Minute) // Tickers of a queue end at their next tick.
		if diff := cmp.Diff([]string{"retry", "with an event", "resync"}, got); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

// TestEditsPrecedeTheFirstList makes a controller process one request at a time.
func TestEditsPrecedeTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		began, goOn := make(chan struct{}), make(chan struct{})
		c := Controller{
			Name: "edits", Workers: 1, Queue: &Queue{},
			List: func(context.Context) ([]reconcile.Request, error) {
				return []reconcile.Request{request("a"), request("b"), request("c")}, nil
			},
			Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
				if order = append(order, r.Name); len(order) == 1 {
					close(began)
					<-goOn
				}
				return reconcile.Result{}, nil
			}),
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		<-began
		c.Queue.Add(request("edited"))
		close(goOn)
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		<-time.After(time.Minute) // Tickers of a queue end at their next tick.
		if diff := cmp.Diff([]string{"a", "edited", "b", "c"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}
