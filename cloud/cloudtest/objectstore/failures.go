package objectstore

import (
	"context"
	"fmt"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

func failureCases() []Case {
	return []Case{
		{Number: 71, Name: "throttled a few times, then served", Run: throttledThenServed},
		{Number: 72, Name: "throttled indefinitely", Run: throttledForEver},
		{Number: 73, Name: "errors before the effect leave nothing", Run: errorsBefore},
		{Number: 74, Name: "connection lost after the effect: a retry succeeds", Run: errorsAfter},
		{Number: 75, Name: "a cancelled call returns, Ambiguous after a change", Run: cancelled},
	}
}

// calls returns every call that sends a request, by operation, for a key.
func calls(objects cloud.ObjectStore, key string) map[faults.Op]func(context.Context) error {
	return map[faults.Op]func(context.Context) error{
		faults.OpPutObject: func(ctx context.Context) error { return objects.PutObject(ctx, key, []byte("first")) },
		faults.OpGetObject: func(ctx context.Context) error { _, err := objects.GetObject(ctx, key, mib); return err },
		faults.OpListObjects: func(ctx context.Context) error {
			for _, err := range objects.ListObjects(ctx, key) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		faults.OpDeleteObject: func(ctx context.Context) error { return objects.DeleteObject(ctx, key) },
	}
}

// lost returns the class of an operation whose response is lost.
func lost(op faults.Op) cloud.Class {
	if op.Mutates() {
		return cloud.ClassAmbiguous
	}
	return cloud.ClassTransient
}

func throttledThenServed(f *Fixture) {
	objects := f.Default()
	f.Put(objects, "there", "first")
	for op, call := range calls(objects, "there") {
		refusal := f.Refusal(cloud.ClassThrottled, op, 20*time.Second)
		f.Script.Add(faults.Fault{Op: op, Times: 3, Kind: faults.Refuse, Answer: refusal})
		for range 3 {
			before := f.Clock.Now()
			n := f.Sent(func() { f.throttled(op, call(f.Context()), refusal) })
			if slept := f.Clock.Since(before); n != f.requestsOf(op) || slept > 0 {
				f.Errorf("%s: %d requests, and a sleep of %s; want %d and none: waiting is the caller's", op, n, slept, f.requestsOf(op))
			}
		}
		if err := call(f.Context()); err != nil {
			f.Errorf("%s, throttled no more: %v", op, err)
		}
		f.Script.Clear()
		f.Store.Put(prefix+"/there", []byte("first"))
	}
}

// requestsOf returns how many requests an operation costs that fails at its own request.
func (f *Fixture) requestsOf(op faults.Op) int {
	if op == faults.OpDeleteObject {
		return 1 + f.DeletionRequests
	}
	return 1
}

// throttled fails unless the error is Throttled and says when to retry.
func (f *Fixture) throttled(op faults.Op, err error, refusal faults.Answer) {
	f.Helper()
	f.WantClass(err, cloud.ClassThrottled)
	if after := cloud.RetryAfter(err); refusal.Header.Get("Retry-After") != "" && after != 20*time.Second {
		f.Errorf("%s: retry after %s, the provider said 20 s", op, after)
	}
}

func throttledForEver(f *Fixture) {
	objects := f.Default()
	f.Store.Put(prefix+"/there", []byte("first"))
	for op, call := range calls(objects, "there") {
		f.Script.Add(faults.Fault{Op: op, Times: -1, Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassThrottled, op, 0)})
		for range 30 {
			// If the provider does not say when to retry, the adapter does: the fixture
			// checks that after every case.
			f.WantClass(call(f.Context()), cloud.ClassThrottled)
			f.Clock.Step(10 * time.Second)
		}
		if n := f.Script.Count(op); n > 31 {
			f.Errorf("%d requests of %s in 30 calls", n, op)
		}
		f.Script.Clear()
	}
	f.WantContent(prefix+"/there", "first")
	f.WantKeys(prefix + "/there")
}

func errorsBefore(f *Fixture) {
	objects := f.Default()
	for i, fault := range []faults.Fault{
		{Kind: faults.DropBefore}, {Kind: faults.Refuse}, {Kind: faults.Garble},
	} {
		key := fmt.Sprintf("new-%d", i)
		for _, op := range []faults.Op{faults.OpPutObject, faults.OpGetObject, faults.OpListObjects, faults.OpDeleteObject} {
			fault.Op, fault.Times = op, 2
			fault.Answer = f.Refusal(cloud.ClassTransient, op, 0)
			f.Script.Add(fault)
			call := calls(objects, key)[op]
			for range 2 {
				// The provider knows that nothing happened, the adapter not always.
				f.WantClass(call(f.Context()), cloud.ClassTransient, lost(op))
			}
			if err := call(f.Context()); err != nil {
				f.Errorf("%s after %s: %v", op, fault.Kind, err)
			}
			f.Script.Clear()
		}
	}
	f.WantKeys()
}

func errorsAfter(f *Fixture) {
	objects := f.Default()
	for _, kind := range []faults.Kind{faults.DropAfter, faults.Truncate} {
		key := "new-" + map[faults.Kind]string{faults.DropAfter: "dropped", faults.Truncate: "truncated"}[kind]
		f.Script.Add(faults.Fault{Op: faults.OpPutObject, Kind: kind})
		// A response without a body is complete when it is truncated.
		if err := objects.PutObject(f.Context(), key, []byte("first")); err != nil || kind == faults.DropAfter {
			f.WantClass(err, cloud.ClassAmbiguous)
		}
		f.Script.Clear()
		f.WantContent(prefix+"/"+key, "first")
		f.Put(objects, key, "first")

		// The read after the failure may fail as well; the request before had no effect.
		f.Script.Add(faults.Fault{Op: faults.OpGetObject, Kind: kind, Times: -1})
		f.WantClass(objects.PutObject(f.Context(), key, []byte("other")), cloud.ClassTransient, cloud.ClassAmbiguous)
		f.Script.Clear()
		f.WantClass(objects.PutObject(f.Context(), key, []byte("other")), cloud.ClassConflict)
		f.WantContent(prefix+"/"+key, "first")

		f.Script.Add(faults.Fault{Op: faults.OpDeleteObject, Kind: kind})
		if err := objects.DeleteObject(f.Context(), key); err != nil || kind == faults.DropAfter {
			f.WantClass(err, cloud.ClassAmbiguous)
		}
		f.Script.Clear()
		if err := objects.DeleteObject(f.Context(), key); err != nil {
			f.Errorf("deleting again after a lost response: %v", err)
		}
	}
	f.WantKeys()
}

func cancelled(f *Fixture) {
	objects := f.Default()
	f.Put(objects, "there", "first")
	for op, call := range calls(objects, "there") {
		f.WantClass(fixture.CancelDuring(f, f.Script, op, call), lost(op))
	}
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	for op, call := range calls(objects, "there") {
		f.WantClass(call(ctx), cloud.ClassTransient, lost(op))
	}
	f.WantContent(prefix+"/there", "first")
	for op, call := range calls(objects, "there") {
		if op == faults.OpDeleteObject {
			continue
		}
		if err := call(f.Context()); err != nil {
			f.Errorf("%s afterwards: %v", op, err)
		}
	}
}
