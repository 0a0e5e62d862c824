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

func throttledThenServed(s *Fixture) {
	objects := s.Default()
	s.Put(objects, "there", "first")
	for op, call := range calls(objects, "there") {
		refusal := s.Refusal(cloud.ClassThrottled, op, 20*time.Second)
		s.Script.Add(faults.Fault{Op: op, Times: 3, Kind: faults.Refuse, Answer: refusal})
		for range 3 {
			before := s.Clock.Now()
			n := s.Sent(func() { s.throttled(op, call(s.Context()), refusal) })
			if slept := s.Clock.Since(before); n != 1 || slept > 0 {
				s.Errorf("%s: %d requests, and a sleep of %s; want one and none: waiting is the caller's", op, n, slept)
			}
		}
		if err := call(s.Context()); err != nil {
			s.Errorf("%s, throttled no more: %v", op, err)
		}
		s.Script.Clear()
		s.Store.Put(prefix+"/there", []byte("first"))
	}
}

// throttled fails unless the error is Throttled and says when to retry.
func (f *Fixture) throttled(op faults.Op, err error, refusal faults.Answer) {
	f.Helper()
	f.WantClass(err, cloud.ClassThrottled)
	if after := cloud.RetryAfter(err); refusal.Header.Get("Retry-After") != "" && after != 20*time.Second {
		f.Errorf("%s: retry after %s, the provider said 20 s", op, after)
	}
}

func throttledForEver(s *Fixture) {
	objects := s.Default()
	s.Store.Put(prefix+"/there", []byte("first"))
	for op, call := range calls(objects, "there") {
		s.Script.Add(faults.Fault{Op: op, Times: -1, Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassThrottled, op, 0)})
		for range 30 {
			// If the provider does not say when to retry, the adapter does: the fixture
			// checks that after every case.
			s.WantClass(call(s.Context()), cloud.ClassThrottled)
			s.Clock.Step(10 * time.Second)
		}
		if n := s.Script.Count(op); n > 31 {
			s.Errorf("%d requests of %s in 30 calls", n, op)
		}
		s.Script.Clear()
	}
	s.WantContent(prefix+"/there", "first")
	s.WantKeys(prefix + "/there")
}

func errorsBefore(s *Fixture) {
	objects := s.Default()
	for i, fault := range []faults.Fault{
		{Kind: faults.DropBefore}, {Kind: faults.Refuse}, {Kind: faults.Garble},
	} {
		key := fmt.Sprintf("new-%d", i)
		for _, op := range []faults.Op{faults.OpPutObject, faults.OpGetObject, faults.OpListObjects, faults.OpDeleteObject} {
			fault.Op, fault.Times = op, 2
			fault.Answer = s.Refusal(cloud.ClassTransient, op, 0)
			s.Script.Add(fault)
			call := calls(objects, key)[op]
			for range 2 {
				// The provider knows that nothing happened, the adapter not always.
				s.WantClass(call(s.Context()), cloud.ClassTransient, lost(op))
			}
			if err := call(s.Context()); err != nil {
				s.Errorf("%s after %s: %v", op, fault.Kind, err)
			}
			s.Script.Clear()
		}
	}
	s.WantKeys()
}

func errorsAfter(s *Fixture) {
	objects := s.Default()
	for _, kind := range []faults.Kind{faults.DropAfter, faults.Truncate} {
		key := "new-" + map[faults.Kind]string{faults.DropAfter: "dropped", faults.Truncate: "truncated"}[kind]
		s.Script.Add(faults.Fault{Op: faults.OpPutObject, Kind: kind})
		// A response without a body is complete when it is truncated.
		if err := objects.PutObject(s.Context(), key, []byte("first")); err != nil || kind == faults.DropAfter {
			s.WantClass(err, cloud.ClassAmbiguous)
		}
		s.Script.Clear()
		s.WantContent(prefix+"/"+key, "first")
		s.Put(objects, key, "first")

		// The read after the failure may fail as well; the request before had no effect.
		s.Script.Add(faults.Fault{Op: faults.OpGetObject, Kind: kind, Times: -1})
		s.WantClass(objects.PutObject(s.Context(), key, []byte("other")), cloud.ClassTransient, cloud.ClassAmbiguous)
		s.Script.Clear()
		s.WantClass(objects.PutObject(s.Context(), key, []byte("other")), cloud.ClassConflict)
		s.WantContent(prefix+"/"+key, "first")

		s.Script.Add(faults.Fault{Op: faults.OpDeleteObject, Kind: kind})
		if err := objects.DeleteObject(s.Context(), key); err != nil || kind == faults.DropAfter {
			s.WantClass(err, cloud.ClassAmbiguous)
		}
		s.Script.Clear()
		if err := objects.DeleteObject(s.Context(), key); err != nil {
			s.Errorf("deleting again after a lost response: %v", err)
		}
	}
	s.WantKeys()
}

func cancelled(s *Fixture) {
	objects := s.Default()
	s.Put(objects, "there", "first")
	for op, call := range calls(objects, "there") {
		s.WantClass(fixture.CancelDuring(s, s.Script, op, call), lost(op))
	}
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	for op, call := range calls(objects, "there") {
		s.WantClass(call(ctx), cloud.ClassTransient, lost(op))
	}
	s.WantContent(prefix+"/there", "first")
	for op, call := range calls(objects, "there") {
		if op == faults.OpDeleteObject {
			continue
		}
		if err := call(s.Context()); err != nil {
			s.Errorf("%s afterwards: %v", op, err)
		}
	}
}
