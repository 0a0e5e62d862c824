package failures

import (
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

func throttleCases() []fixture.Case {
	return []fixture.Case{
		{Number: 21, Name: "throttled a few times, then served", Run: throttledThenServed},
		{Number: 22, Name: "throttled indefinitely", Run: throttledForEver},
		{Number: 35, Name: "an exhausted quota is Quota, with long waits", Run: quota},
		{Number: 36, Name: "the rate limit of a volume waits as long as the provider says", Run: volumeRate},
	}
}

func throttledThenServed(s *fixture.Fixture) {
	refusal := s.Refusal(cloud.ClassThrottled, faults.OpCreateSnapshot, 20*time.Second)
	c := s.NewClient(s.Session(fixture.Options{}), s.Volume("data"), "0")
	s.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Times: 3, Kind: faults.Refuse, Answer: refusal})
	for range 3 {
		before := s.Clock.Now()
		c.Step()
		s.WantClass(c.Err, cloud.ClassThrottled)
		if after := cloud.RetryAfter(c.Err); refusal.Header.Get("Retry-After") != "" && after != 20*time.Second {
			s.Errorf("retry after %s, the provider said 20 s", after)
		}
		if slept := s.Clock.Since(before); slept > 0 {
			s.Errorf("the session slept for %s; waiting is the caller's", slept)
		}
		s.Clock.Step(c.Next.Sub(s.Clock.Now()))
	}
	c.Settle()
	s.One(c.Spec.Name)
	s.WantCount(faults.OpCreateSnapshot, 4)
}

func throttledForEver(s *fixture.Fixture) {
	session := s.Session(fixture.Options{})
	// If the provider does not say when to retry, the session does.
	says := map[faults.Op]time.Duration{faults.OpDescribeVolume: 30 * time.Second, faults.OpGetSnapshot: 0, faults.OpListSnapshots: 0, faults.OpCreateSnapshot: 0}
	for op, after := range says {
		volume := s.Volume("data-" + string(op[0]|0x20))
		c := s.NewClient(session, volume, string(op))
		s.Script.Add(faults.Fault{Op: op, Times: -1, Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassThrottled, op, after)})
		before := s.Script.Count(op)
		for end := s.Clock.Now().Add(time.Hour); s.Clock.Now().Before(end); s.Clock.Step(5 * time.Second) {
			c.Step()
			if s.Script.Count(op) == before {
				break // The provider does not need this one to make a snapshot.
			}
			s.WantClass(c.Err, cloud.ClassThrottled)
		}
		if sent, most := s.Script.Count(op)-before, 1+int(time.Hour/(10*time.Second)); sent > c.Steps || c.Steps > most {
			s.Errorf("%s: %d requests in %d steps, at most one in each of %d", op, sent, c.Steps, most)
		}
		s.Script.Clear()
		c.Settle()
		s.One(c.Spec.Name)
	}
}

func quota(s *fixture.Fixture) {
	c := s.NewClient(s.Session(fixture.Options{}), s.Volume("data"), "0")
	s.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Times: -1, Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassQuota, faults.OpCreateSnapshot, 0)})
	for end := s.Clock.Now().Add(2 * time.Hour); s.Clock.Now().Before(end); s.Clock.Step(time.Minute) {
		c.Step()
		s.WantClass(c.Err, cloud.ClassQuota)
	}
	if sent := s.Script.Count(faults.OpCreateSnapshot); sent > 13 {
		s.Errorf("%d requests in two hours without quota", sent)
	}
	if made := s.Owned(s.Owner, c.Spec.Name); len(made) > 0 {
		s.Errorf("made without quota: %v", made)
	}
	s.Script.Clear()
	c.Settle()
	s.One(c.Spec.Name)
}

func volumeRate(s *fixture.Fixture) {
	if s.VolumeRate == nil {
		s.Fatal("Backend.VolumeRate is not set; a provider without such a limit has case 36 in Spare")
	}
	answer, least := s.VolumeRate()
	c := s.NewClient(s.Session(fixture.Options{}), s.Volume("data"), "0")
	s.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Kind: faults.Refuse, Answer: answer})
	c.Step()
	s.WantClass(c.Err, cloud.ClassThrottled)
	if after := cloud.RetryAfter(c.Err); after < least {
		s.Errorf("retry after %s, the provider's minimum is %s", after, least)
	}
	c.Settle()
	s.One(c.Spec.Name)
	s.WantCount(faults.OpCreateSnapshot, 2)
}
