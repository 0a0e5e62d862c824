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

func throttledThenServed(f *fixture.Fixture) {
	refusal := f.Refusal(cloud.ClassThrottled, faults.OpCreateSnapshot, 20*time.Second)
	c := f.NewClient(f.Session(fixture.Options{}), f.Volume("data"), "0")
	f.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Times: 3, Kind: faults.Refuse, Answer: refusal})
	for range 3 {
		before := f.Clock.Now()
		c.Step()
		f.WantClass(c.Err, cloud.ClassThrottled)
		if after := cloud.RetryAfter(c.Err); refusal.Header.Get("Retry-After") != "" && after != 20*time.Second {
			f.Errorf("retry after %s, the provider said 20 s", after)
		}
		if slept := f.Clock.Since(before); slept > 0 {
			f.Errorf("the session slept for %s; waiting is the caller's", slept)
		}
		f.Clock.Step(c.Next.Sub(f.Clock.Now()))
	}
	c.Settle()
	f.One(c.Spec.Name)
	f.WantCount(faults.OpCreateSnapshot, 4)
}

func throttledForEver(f *fixture.Fixture) {
	session := f.Session(fixture.Options{})
	// If the provider does not say when to retry, the session does.
	says := map[faults.Op]time.Duration{faults.OpDescribeVolume: 30 * time.Second, faults.OpGetSnapshot: 0, faults.OpListSnapshots: 0, faults.OpCreateSnapshot: 0}
	for op, after := range says {
		volume := f.Volume("data-" + string(op[0]|0x20))
		c := f.NewClient(session, volume, string(op))
		f.Script.Add(faults.Fault{Op: op, Times: -1, Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassThrottled, op, after)})
		before := f.Script.Count(op)
		for end := f.Clock.Now().Add(time.Hour); f.Clock.Now().Before(end); f.Clock.Step(5 * time.Second) {
			c.Step()
			if f.Script.Count(op) == before {
				break // The provider does not need this one to make a snapshot.
			}
			f.WantClass(c.Err, cloud.ClassThrottled)
		}
		if sent, most := f.Script.Count(op)-before, 1+int(time.Hour/(10*time.Second)); sent > c.Steps || c.Steps > most {
			f.Errorf("%s: %d requests in %d steps, at most one in each of %d", op, sent, c.Steps, most)
		}
		f.Script.Clear()
		c.Settle()
		f.One(c.Spec.Name)
	}
}

func quota(f *fixture.Fixture) {
	c := f.NewClient(f.Session(fixture.Options{}), f.Volume("data"), "0")
	f.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Times: -1, Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassQuota, faults.OpCreateSnapshot, 0)})
	for end := f.Clock.Now().Add(2 * time.Hour); f.Clock.Now().Before(end); f.Clock.Step(time.Minute) {
		c.Step()
		f.WantClass(c.Err, cloud.ClassQuota)
	}
	if sent := f.Script.Count(faults.OpCreateSnapshot); sent > 13 {
		f.Errorf("%d requests in two hours without quota", sent)
	}
	if made := f.Owned(f.Owner, c.Spec.Name); len(made) > 0 {
		f.Errorf("made without quota: %v", made)
	}
	f.Script.Clear()
	c.Settle()
	f.One(c.Spec.Name)
}

func volumeRate(f *fixture.Fixture) {
	if f.VolumeRate == nil {
		f.Fatal("Backend.VolumeRate is not set; a provider without such a limit has case 36 in Unsupported")
	}
	answer, least := f.VolumeRate()
	c := f.NewClient(f.Session(fixture.Options{}), f.Volume("data"), "0")
	f.Script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Kind: faults.Refuse, Answer: answer})
	c.Step()
	f.WantClass(c.Err, cloud.ClassThrottled)
	if after := cloud.RetryAfter(c.Err); after < least {
		f.Errorf("retry after %s, the provider's minimum is %s", after, least)
	}
	c.Settle()
	f.One(c.Spec.Name)
	f.WantCount(faults.OpCreateSnapshot, 2)
}
