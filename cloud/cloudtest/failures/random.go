package failures

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// schedule is a run of random steps. A seed gives the same run as long as sessions send
// the same requests.
type schedule struct {
	*fixture.Fixture
	rng     source
	volumes []cloud.VolumeRef
	clients []*fixture.Client
	// going holds the clients whose snapshots are being deleted, gone those whose
	// snapshots are deleted.
	going, gone map[*fixture.Client]bool
	foreign     map[string]bool
}

// Random runs thirty random steps with faults, ends the faults, and checks the result.
func Random(s *fixture.Fixture, seed uint64) {
	r := &schedule{Fixture: s, rng: source(seed), going: map[*fixture.Client]bool{}, gone: map[*fixture.Client]bool{}, foreign: map[string]bool{}}
	r.prepare()
	for range 30 {
		r.step()
	}
	s.Script.Clear()
	r.finish()
	r.check()
}

// source is the pseudo-random generator splitmix64, which gives the same numbers in every
// version of Go.
type source uint64

func (s *source) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// among returns a number from 0 to n-1, for a small n.
func (s *source) among(n int) int { return int(s.next()>>33) % n }

func (r *schedule) prepare() {
	r.Helper()
	for i := range 3 {
		r.volumes = append(r.volumes, r.Volume(fmt.Sprintf("data-%d", i)))
	}
	r.foreign[r.ForeignSnapshot(r).ID] = true
	r.foreign[r.Ensure(r.Theirs(), r.SpecOf(r.OtherHub(), r.volumes[0], "0")).Ref.ID] = true
	r.Clock.Step(30 * time.Minute)
	r.Pace(fake.Pace{Taken: r.seconds(20), Ready: 20*time.Second + r.seconds(100), Lag: r.seconds(80)})
	r.Script.Chance(r.chance())
	r.begin()
}

func (r *schedule) seconds(n int) time.Duration { return time.Duration(r.rng.among(n)) * time.Second }

// chance fails a quarter of the requests. It has a source of its own, because sessions
// call it at any time.
func (r *schedule) chance() func(faults.Op) (faults.Fault, bool) {
	rng := source(r.rng.next())
	classes := []cloud.Class{cloud.ClassThrottled, cloud.ClassTransient, cloud.ClassThrottled, cloud.ClassTransient, cloud.ClassDenied}
	kinds := []faults.Kind{faults.DropBefore, faults.DropAfter, faults.Truncate, faults.Garble, faults.Refuse, faults.Refuse}
	return func(op faults.Op) (faults.Fault, bool) {
		if op == faults.OpOther || rng.among(4) > 0 {
			return faults.Fault{}, false
		}
		fault := faults.Fault{Op: op, Kind: kinds[rng.among(len(kinds))]}
		if fault.Kind == faults.Refuse {
			fault.Answer = r.Refusal(classes[rng.among(len(classes))], op, 10*time.Second)
		}
		return fault, true
	}
}

func (r *schedule) begin() {
	r.Helper()
	if n := len(r.clients); n < 8 {
		r.clients = append(r.clients, r.NewClient(r.Session(fixture.Options{}), r.volumes[n%len(r.volumes)], strconv.Itoa(n)))
	}
}

func (r *schedule) step() {
	r.Helper()
	c := r.clients[r.rng.among(len(r.clients))]
	switch r.rng.among(12) {
	case 0, 1:
		r.begin()
	case 2, 3, 4:
		r.Clock.Step(time.Second + r.seconds(60))
	case 5:
		if !r.going[c] {
			c.Crash()
		}
	case 6:
		if c.Done() && c.Stopped == nil && c.Err == nil {
			r.going[c] = true
		}
	case 7:
		if r.Cloud != nil {
			r.Cloud.FailNext("by chance")
		}
	default:
		for _, c := range r.clients {
			r.advance(c)
		}
	}
}

// advance runs the next step of a client.
func (r *schedule) advance(c *fixture.Client) {
	r.Helper()
	switch {
	case r.gone[c]:
	case r.going[c]:
		// The next step retries after an error.
		if c.Session.Snapshots.DeleteSnapshot(r.Context(), c.Snapshot.Ref, r.Owner) == nil {
			r.gone[c] = true
		}
	case c.Snapshot.State != cloud.StateReady:
		c.Step()
	}
}

// finish runs all clients to completion, after the denied permissions were restored.
func (r *schedule) finish() {
	r.Helper()
	for _, c := range r.clients {
		c.Stopped, c.Next = nil, time.Time{}
		if !r.going[c] {
			c.Settle()
			continue
		}
		for range 5 {
			r.advance(c)
			r.Clock.Step(time.Minute)
		}
	}
	r.Clock.Step(10 * time.Minute)
}

// check compares the cloud with the expected snapshots.
func (r *schedule) check() {
	r.Helper()
	for i, c := range r.clients {
		want := 1
		if r.going[c] {
			want = 0
		}
		if all := r.Owned(r.Owner, c.Spec.Name); len(all) != want {
			r.Errorf("the cloud has %d snapshots of scheduledTime %d, want %d: %v", len(all), i, want, all)
		}
	}
	for _, snapshot := range r.Store.Snapshots() {
		delete(r.foreign, snapshot.ID)
	}
	for id := range r.foreign {
		r.Errorf("%q, which is not ours, was deleted", id)
	}
	listed := r.IDs(r.Session(fixture.Options{}), r.Owner)
	for i, c := range r.clients {
		if slices.Contains(listed, c.Snapshot.Ref.ID) == r.going[c] {
			r.Errorf("scheduledTime %d: %q is in the list: %t, and deleted: %t", i, c.Snapshot.Ref.ID, r.going[c], r.going[c])
		}
	}
	sent, allowed := r.Script.Count(faults.OpCreateSnapshot), 1
	for _, c := range r.clients {
		allowed += c.Steps
	}
	if sent > allowed {
		r.Errorf("%d requests to create in %d steps", sent, allowed)
	}
}
