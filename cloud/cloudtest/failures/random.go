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
func Random(f *fixture.Fixture, seed uint64) {
	r := &schedule{Fixture: f, rng: source(seed), going: map[*fixture.Client]bool{}, gone: map[*fixture.Client]bool{}, foreign: map[string]bool{}}
	r.prepare()
	for range 30 {
		r.step()
	}
	f.Script.Clear()
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

func (s *schedule) prepare() {
	s.Helper()
	for i := range 3 {
		s.volumes = append(s.volumes, s.Volume(fmt.Sprintf("data-%d", i)))
	}
	s.foreign[s.ForeignSnapshot(s).ID] = true
	s.foreign[s.Ensure(s.Theirs(), s.SpecOf(s.OtherHub(), s.volumes[0], "0")).Ref.ID] = true
	s.Clock.Step(30 * time.Minute)
	s.Pace(fake.Pace{Taken: s.seconds(20), Ready: 20*time.Second + s.seconds(100), Lag: s.seconds(80)})
	s.Script.Chance(s.chance())
	s.begin()
}

func (s *schedule) seconds(n int) time.Duration { return time.Duration(s.rng.among(n)) * time.Second }

// chance fails a quarter of the requests. It has a source of its own, because sessions
// call it at any time.
func (s *schedule) chance() func(faults.Op) (faults.Fault, bool) {
	rng := source(s.rng.next())
	classes := []cloud.Class{cloud.ClassThrottled, cloud.ClassTransient, cloud.ClassThrottled, cloud.ClassTransient, cloud.ClassDenied}
	kinds := []faults.Kind{faults.DropBefore, faults.DropAfter, faults.Truncate, faults.Garble, faults.Refuse, faults.Refuse}
	return func(op faults.Op) (faults.Fault, bool) {
		if op == faults.OpOther || rng.among(4) > 0 {
			return faults.Fault{}, false
		}
		fault := faults.Fault{Op: op, Kind: kinds[rng.among(len(kinds))]}
		if fault.Kind == faults.Refuse {
			fault.Answer = s.Refusal(classes[rng.among(len(classes))], op, 10*time.Second)
		}
		return fault, true
	}
}

func (s *schedule) begin() {
	s.Helper()
	if n := len(s.clients); n < 8 {
		s.clients = append(s.clients, s.NewClient(s.Session(fixture.Options{}), s.volumes[n%len(s.volumes)], strconv.Itoa(n)))
	}
}

func (s *schedule) step() {
	s.Helper()
	c := s.clients[s.rng.among(len(s.clients))]
	switch s.rng.among(12) {
	case 0, 1:
		s.begin()
	case 2, 3, 4:
		s.Clock.Step(time.Second + s.seconds(60))
	case 5:
		if !s.going[c] {
			c.Crash()
		}
	case 6:
		if c.Done() && c.Stopped == nil && c.Err == nil {
			s.going[c] = true
		}
	case 7:
		if s.Cloud != nil {
			s.Cloud.FailNext("by chance")
		}
	default:
		for _, c := range s.clients {
			s.advance(c)
		}
	}
}

// advance runs the next step of a client.
func (s *schedule) advance(c *fixture.Client) {
	s.Helper()
	switch {
	case s.gone[c]:
	case s.going[c]:
		// The next step retries after an error.
		if c.Session.Snapshots.DeleteSnapshot(s.Context(), c.Snapshot.Ref, s.Owner) == nil {
			s.gone[c] = true
		}
	case c.Snapshot.State != cloud.StateReady:
		c.Step()
	}
}

// finish runs all clients to completion, after the denied permissions were restored.
func (s *schedule) finish() {
	s.Helper()
	for _, c := range s.clients {
		c.Stopped, c.Next = nil, time.Time{}
		if !s.going[c] {
			c.Settle()
			continue
		}
		for range 5 {
			s.advance(c)
			s.Clock.Step(time.Minute)
		}
	}
	s.Clock.Step(10 * time.Minute)
}

// check compares the cloud with the expected snapshots.
func (s *schedule) check() {
	s.Helper()
	for i, c := range s.clients {
		want := 1
		if s.going[c] {
			want = 0
		}
		if all := s.Owned(s.Owner, c.Spec.Name); len(all) != want {
			s.Errorf("the cloud has %d snapshots of scheduledTime %d, want %d: %v", len(all), i, want, all)
		}
	}
	for _, snapshot := range s.Store.Snapshots() {
		delete(s.foreign, snapshot.ID)
	}
	for id := range s.foreign {
		s.Errorf("%q, which is not ours, was deleted", id)
	}
	listed := s.IDs(s.Session(fixture.Options{}), s.Owner)
	for i, c := range s.clients {
		if slices.Contains(listed, c.Snapshot.Ref.ID) == s.going[c] {
			s.Errorf("scheduledTime %d: %q is in the list: %t, and deleted: %t", i, c.Snapshot.Ref.ID, s.going[c], s.going[c])
		}
	}
	sent, allowed := s.Script.Count(faults.OpCreateSnapshot), 1
	for _, c := range s.clients {
		allowed += c.Steps
	}
	if sent > allowed {
		s.Errorf("%d requests to create in %d steps", sent, allowed)
	}
}
