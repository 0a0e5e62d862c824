package bench

import (
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// Caller asks for a snapshot or a copy as the hub does, one step at a time.
type Caller struct {
	Session cloud.Session
	Owner   cloud.Owner
	// Spec is what is wanted; when Source is set, a copy of it.
	Spec   cloud.SnapshotSpec
	Source *cloud.SnapshotRef

	// Written is what outlives a crash.
	Written cloud.Intent

	// Snapshot and Err are what the last step came to; Stopped is an error that only a
	// person can mend.
	Snapshot     cloud.Snapshot
	Err, Stopped error
	// Next is when to ask again at the earliest.
	Next time.Time
	// Steps is how often the session was asked.
	Steps int

	s *Stand
}

// maxRequests is how many requests one call of EnsureSnapshot or EnsureCopy may send.
const maxRequests = 8

// Caller makes a caller for a snapshot of a volume, for a scheduled time.
func (s *Stand) Caller(session cloud.Session, volume cloud.VolumeRef, scheduledTime string) *Caller {
	return &Caller{s: s, Session: session, Owner: s.Owner, Spec: s.Spec(volume, scheduledTime)}
}

// Step asks once, if it is time.
func (c *Caller) Step() {
	c.s.Helper()
	now := c.s.Clock.Now()
	if c.Stopped != nil || now.Before(c.Next) {
		return
	}
	c.Steps++
	intent := c.Written
	c.Spec.Attempt, c.Spec.MaySend = intent.Attempt, intent.MaySend(now)
	if c.Spec.MaySend {
		intent = intent.Sending(now)
		c.Write(intent)
	}
	before := len(c.s.Script.Calls())
	c.Snapshot, c.Err = c.ensure()
	c.Write(intent.After(c.Snapshot.State, c.Err))
	c.checkRequests(c.s.Script.Calls()[before:])
	if c.Err == nil {
		c.drop(c.Snapshot.Duplicates)
	}
	c.Next = now.Add(c.wait(now))
}

// Write writes an intent down as a status holds it.
func (c *Caller) Write(i cloud.Intent) {
	c.Written = cloud.Intent{Attempt: i.Attempt, SentAt: i.SentAt}
}

func (c *Caller) ensure() (cloud.Snapshot, error) {
	if c.Source == nil {
		return c.Session.Snapshots.EnsureSnapshot(c.s.Context(), c.Spec)
	}
	return c.Session.Snapshots.EnsureCopy(c.s.Context(), cloud.CopySpec{
		Name: c.Spec.Name, Source: *c.Source, Tags: c.Spec.Tags, Attempt: c.Spec.Attempt, MaySend: c.Spec.MaySend,
	})
}

// checkRequests looks at what one call sent.
func (c *Caller) checkRequests(calls []faults.Call) {
	c.s.Helper()
	creates := 0
	for _, call := range calls {
		if call.Op == faults.OpCreateSnapshot || call.Op == faults.OpCopySnapshot {
			creates++
		}
	}
	switch {
	case len(calls) > maxRequests:
		c.s.Errorf("one call sent %d requests, more than %d", len(calls), maxRequests)
	case creates > 1:
		c.s.Errorf("one call sent %d requests to create: an answer that is lost leaves two snapshots", creates)
	case creates > 0 && !c.Spec.MaySend:
		c.s.Error("a request to create was sent though the caller had not allowed it")
	case cloud.ClassOf(c.Err) == cloud.ClassDenied && len(calls) > 0 && calls[len(calls)-1].Fault == "" && c.s.refused(calls):
		c.s.Errorf("the provider denied, and requests went on: %v", calls)
	}
}

// refused tells whether one of some calls was refused by the script.
func (s *Stand) refused(calls []faults.Call) bool {
	for _, call := range calls {
		if call.Fault == faults.Refuse {
			return true
		}
	}
	return false
}

// drop deletes duplicates after it has looked whether they are what it thinks.
func (c *Caller) drop(duplicates []cloud.SnapshotRef) {
	c.s.Helper()
	for _, ref := range duplicates {
		if ref == c.Snapshot.Ref {
			c.s.Fatalf("snapshot %q is reported as a duplicate of itself", ref.ID)
		}
		again, err := c.Session.Snapshots.GetSnapshot(c.s.Context(), ref)
		if err != nil || again.Name != c.Snapshot.Name || again.SourceHandle != c.Snapshot.SourceHandle || !c.Owner.Owns(again.Tags) {
			continue // It is reported again next time.
		}
		// What comes of it is seen by the next look.
		_ = c.Session.Snapshots.DeleteSnapshot(c.s.Context(), ref, c.Owner)
	}
}

// wait is how long to wait after a step, by the class of its error.
func (c *Caller) wait(now time.Time) time.Duration {
	switch class := cloud.ClassOf(c.Err); class {
	case "":
		return 15 * time.Second
	case cloud.ClassAmbiguous:
		return min(max(c.Written.Wait(now), time.Second), 15*time.Second)
	case cloud.ClassTransient, cloud.ClassThrottled:
		return max(cloud.RetryAfter(c.Err), 10*time.Second)
	case cloud.ClassQuota:
		return max(cloud.RetryAfter(c.Err), 10*time.Minute)
	default:
		c.Stopped = c.Err
		return 0
	}
}

// Done tells whether nothing is left to do, as far as can be seen.
func (c *Caller) Done() bool {
	return c.Stopped != nil || c.Err == nil && c.Snapshot.State == cloud.StateReady && len(c.Snapshot.Duplicates) == 0
}

// Settle steps until nothing is left to do, and looks again when all that was made
// must be visible. It fails after six hours.
func (c *Caller) Settle() {
	c.s.Helper()
	for end := c.s.Clock.Now().Add(6 * time.Hour); ; {
		c.Step()
		if c.Done() {
			break
		}
		if c.s.Clock.Now().After(end) {
			c.s.Fatalf("not settled after six hours: state %q, error %v", c.Snapshot.State, c.Err)
		}
		c.s.Clock.Step(max(c.Next.Sub(c.s.Clock.Now()), time.Second))
	}
	if c.Stopped != nil {
		c.s.Fatalf("stopped: %v", c.Stopped)
	}
}

// Crash forgets all that was not written down, and starts anew.
func (c *Caller) Crash() {
	c.s.Helper()
	c.Session = c.s.Session(Options{})
	c.Snapshot, c.Err, c.Next = cloud.Snapshot{}, nil, time.Time{}
}

// StepAndCrash asks and dies before it can write the answer down.
func (c *Caller) StepAndCrash() {
	c.s.Helper()
	c.Step()
	if c.Err != nil {
		c.s.Fatalf("asking before the crash: %v", c.Err)
	}
	c.Crash()
}

// Copier is a caller for a copy in the second region.
func (s *Stand) Copier(source cloud.SnapshotRef) *Caller {
	s.Helper()
	return &Caller{
		s: s, Session: s.Session(Options{Region: 1}), Owner: s.Owner, Source: &source,
		Spec: cloud.SnapshotSpec{
			Name: cloud.Name(s.Owner.Hub, s.Owner.App, source.ID, s.Regions[1], "copy"),
			Tags: cloud.Tags{cloud.TagHub: s.Owner.Hub, cloud.TagApp: s.Owner.App, cloud.TagScheduledTime: "0"},
		},
	}
}
