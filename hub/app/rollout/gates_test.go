package rollout

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestPause(t *testing.T) {
	t.Parallel()
	pause := func(r *Request) { r.Paused = true }
	runDecisions(t, []decisionCase{
		{
			name: "nothing begins", last: complete(1), clusters: "eu-1=1 eu-2=1", with: pause,
			want: "Paused eu 0/2 paused by the annotation ecommerce.io/rollout-paused | eu-1=1 eu-2=1",
		}, {
			name: "also with All", last: complete(1), clusters: "eu-1=1 us-1=1", with: func(r *Request) { pause(r); r.Spec.Strategy = v1.RolloutAll },
			want: "Paused 0/2 paused by the annotation ecommerce.io/rollout-paused | eu-1=1 us-1=1",
		}, {
			name: "what has begun goes on", last: rolling(ready("eu-1", 30)), clusters: "eu-1=2 eu-2=1", with: pause,
			want: "Paused eu 0/2 paused by the annotation ecommerce.io/rollout-paused | eu-1=2(ready -30s) eu-2=1 | until 30s",
		}, {
			name: "an edit back to the healthy revision waits too", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,updating eu-2=1",
			with: func(r *Request) { pause(r); r.Revision = 1 },
			want: "Paused eu 1/2 paused by the annotation ecommerce.io/rollout-paused | eu-1=2 eu-2=1 | superseded eu-1(never)",
		}, {
			name: "so does an edit while no revision was healthy", last: first(began("eu-1", 3)), clusters: "eu-1=2,down eu-2=2,down",
			with: func(r *Request) { pause(r); r.Revision = 3 },
			want: "Paused 0/2 paused by the annotation ecommerce.io/rollout-paused; not serving customers before: eu-1, eu-2 | eu-1=2 eu-2=2 | superseded eu-1(never)",
		}, {
			name: "a user may ask for an earlier revision", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,updating eu-2=1",
			with: func(r *Request) { pause(r); r.RollbackTo = 1 },
			want: "RollingBack 0/2 requested by the annotation ecommerce.io/rollback-to | eu-1=1(0s) eu-2=1",
		}, {
			name: "a failure is reported and takes nothing back", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,failed eu-2=1", with: pause,
			want: "Failed eu 0/2 eu-1: ProgressDeadlineExceeded | eu-1=2(-3m0s) eu-2=1",
		}, {
			name: "the last cluster completes the rollout", last: rolling(ready("eu-1", 60)), clusters: "eu-1=2", with: pause,
			want: "Complete 1/1 | eu-1=2 | completed 0s",
		},
	})
}

func TestApproval(t *testing.T) {
	t.Parallel()
	approved := func(region string) func(*Request) {
		return func(r *Request) { r.Spec.Approval, r.Approved = v1.ApprovalBetweenRegions, region }
	}
	completed := rolling()
	completed.CompletionTime = minutes(-60)
	runDecisions(t, []decisionCase{
		{
			name: "the first region needs none", last: complete(1), clusters: "eu-1=1 us-1=1", with: approved(""),
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s) us-1=1 | until 10m0s",
		}, {
			name: "the second one waits", last: rolling(), clusters: "eu-1=2 us-1=1", with: approved(""),
			want: "WaitingForApproval us 1/2 waiting for approval of us | eu-1=2 us-1=1",
		}, {
			name: "the approval of another region does not count", last: rolling(), clusters: "eu-1=2 us-1=1", with: approved("eu"),
			want: "WaitingForApproval us 1/2 waiting for approval of us | eu-1=2 us-1=1",
		}, {
			name: "with approval it begins", last: rolling(), clusters: "eu-1=2 us-1=1", with: approved("us"),
			want: "Progressing us 1/2 waiting for us-1 | eu-1=2 us-1=2(0s) | until 10m0s",
		}, {
			name: "an early approval begins no region before its turn", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,updating us-1=1", with: approved("us"),
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(-3m0s) us-1=1 | until 7m0s",
		}, {
			name: "a region that has begun needs none", last: rolling(), clusters: "eu-1=2 us-1=2 us-2=1", with: approved(""),
			want: "Progressing us 2/3 waiting for us-2 | eu-1=2 us-1=2 us-2=2(0s) | until 10m0s",
		}, {
			name: "a region that is set aside is not the first", last: complete(1), clusters: "eu-1=1,aside us-1=1", with: approved(""),
			want: "Progressing us 0/2 waiting for us-1 | eu-1=1 us-1=2(0s) | until 10m0s",
		}, {
			name: "a cluster that does not serve does not bring its region forward", last: complete(1), clusters: "eu-1=1 us-1=1,down", with: approved(""),
			want: "Progressing eu 0/2 waiting for eu-1, us-1; not serving customers before: us-1 | eu-1=2(0s) us-1=1 | until 10m0s",
		}, {
			name: "with All the regions are approved in their order, too", last: rolling(), clusters: "ap-1=1 eu-1=2 us-1=1",
			with: func(r *Request) { approved("")(r); r.Spec.Strategy = v1.RolloutAll },
			want: "WaitingForApproval us 1/3 waiting for approval of us | ap-1=1 eu-1=2 us-1=1",
		}, {
			name: "the first region is the first also if it is back late", last: rolling(), clusters: "eu-1=1 us-1=2 us-2=1", with: approved(""),
			want: "Progressing eu 1/3 waiting for eu-1, us-2 | eu-1=2(0s) us-1=2 us-2=1 | until 10m0s",
		}, {
			name: "a region that is lost after it has begun is the first", last: rolling(), clusters: "eu-1=2,aside us-1=1", with: approved(""),
			want: "WaitingForApproval us 1/2 waiting for approval of us | eu-1=2 us-1=1",
		}, {
			name: "also if only another of its clusters has begun", last: rolling(), clusters: "eu-1=2 eu-2=1,aside us-1=1", with: approved(""),
			want: "WaitingForApproval us 1/3 waiting for approval of us | eu-1=2 eu-2=1 us-1=1",
		}, {
			name: "with All a region that waits for a backup is the first", last: complete(1), clusters: "eu-1=1,backup us-1=1",
			with: func(r *Request) { approved("")(r); r.Spec.Strategy = v1.RolloutAll },
			want: "WaitingForApproval us 0/2 waiting for approval of us | eu-1=1 us-1=1",
		}, {
			name: "those that catch up after the completion need none", last: completed, clusters: "eu-1=2 us-1=1", with: approved(""),
			want: "Progressing us 1/2 waiting for us-1 | eu-1=2 us-1=2(0s) | completed -1h0m0s | until 10m0s",
		},
	})
}

// TestWindows decides at 9:00 UTC on a Monday, the 2nd of March.
func TestWindows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schedule, zone string
		duration       time.Duration
		open           bool
		next           time.Duration
	}{
		"begins now":                  {schedule: "0 9 * * *", duration: time.Hour, open: true},
		"is over now":                 {schedule: "0 8 * * *", duration: time.Hour, next: 23 * time.Hour},
		"is over in a minute":         {schedule: "1 8 * * *", duration: time.Hour, open: true},
		"begins in a minute":          {schedule: "1 9 * * *", duration: time.Hour, next: time.Minute},
		"began on another day":        {schedule: "0 12 * * 6", duration: 48 * time.Hour, open: true},
		"is on another day":           {schedule: "0 9 * * 2", duration: time.Hour, next: 24 * time.Hour},
		"overlaps the next":           {schedule: "0 * * * *", duration: 3 * time.Hour, open: true},
		"is at nine in Berlin":        {schedule: "0 9 * * *", zone: "Europe/Berlin", duration: time.Hour, next: 23 * time.Hour},
		"is at ten in Berlin":         {schedule: "0 10 * * *", zone: "Europe/Berlin", duration: time.Hour, open: true},
		"is on Monday in Auckland":    {schedule: "0 22 * * 1", zone: "Pacific/Auckland", duration: time.Hour, open: true},
		"was on Monday in Auckland":   {schedule: "0 9 * * 1", zone: "Pacific/Auckland", duration: time.Hour, next: (6*24 + 11) * time.Hour},
		"is skipped in spring":        {schedule: "30 1 29 3 *", zone: "Europe/Dublin", duration: time.Hour, next: 26*24*time.Hour + 16*time.Hour + 30*time.Minute},
		"is on a leap day":            {schedule: "0 0 29 2 *", duration: time.Hour, next: 729*24*time.Hour - 9*time.Hour},
		"begins with the second zone": {schedule: "0 9 * * *", zone: "UTC", duration: time.Minute, open: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Request{Revision: 2, Hash: "two", Last: complete(1), Clusters: clustersOf(t, "eu-1=1"), Now: start()}
			r.Spec.Windows = []v1.RolloutWindow{{Schedule: v1.CronSchedule(c.schedule), TimeZone: v1.TimeZone(c.zone), Duration: metav1.Duration{Duration: c.duration}}}
			d, err := Next(r)
			if err != nil {
				t.Fatal(err)
			}
			if open := d.Revisions["eu-1"] == 2; open != c.open || open == (d.Status.State == v1.RolloutWaitingForWindow) {
				t.Errorf("open: %t, want %t; %s", open, c.open, describe(d))
			}
			if next := d.Until.Sub(start()); !c.open && next != c.next {
				t.Errorf("due in %s, want %s", next, c.next)
			}
		})
	}
}

func TestWindowsOfARollout(t *testing.T) {
	t.Parallel()
	closed := func(r *Request) {
		r.Spec.Windows = []v1.RolloutWindow{
			{Schedule: "0 20 * * *", Duration: metav1.Duration{Duration: time.Hour}},
			{Schedule: "0 12 * * *", Duration: metav1.Duration{Duration: time.Hour}},
		}
	}
	closing := func(r *Request) {
		r.Spec.Windows = []v1.RolloutWindow{
			{Schedule: "56 * * * *", Duration: metav1.Duration{Duration: 5 * time.Minute}},
			{Schedule: "57 8 * * *", Duration: metav1.Duration{Duration: 5 * time.Minute}},
		}
	}
	runDecisions(t, []decisionCase{
		{
			name: "the first of two windows is the next", last: complete(1), clusters: "eu-1=1", with: closed,
			want: "WaitingForWindow eu 0/1 waiting for the next window of spec.rollout.windows | eu-1=1 | until 3h0m0s",
		}, {
			name: "the end of a window is due, too", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,updating eu-2=1", with: closing,
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(-3m0s) eu-2=1 | until 2m0s",
		}, {
			name: "but not if nothing is to begin", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,updating", with: closing,
			want: "Progressing eu 0/1 waiting for eu-1 | eu-1=2(-3m0s) | until 7m0s",
		}, {
			name: "what has begun goes on", last: rolling(ready("eu-1", 30)), clusters: "eu-1=2 eu-2=1", with: closed,
			want: "WaitingForWindow eu 0/2 waiting for the next window of spec.rollout.windows | eu-1=2(ready -30s) eu-2=1 | until 30s",
		}, {
			name: "a rollback needs no window", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,failed eu-2=1", with: closed,
			want: "RollingBack 0/2 eu-1: ProgressDeadlineExceeded | eu-1=1(0s) eu-2=1",
		}, {
			name: "neither does a return to the healthy revision", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,updating eu-2=1",
			with: func(r *Request) { closed(r); r.Revision = 1 },
			want: "Progressing eu 1/2 waiting for eu-1 | eu-1=1(0s) eu-2=1 | until 10m0s",
		}, {
			name: "nor the first revision", clusters: "eu-1=0,down", with: closed,
			want: "Progressing 0/1 waiting for eu-1; not serving customers before: eu-1 | eu-1=2(0s, down before) | until 10m0s",
		}, {
			name: "with nothing to begin none is waited for", last: rolling(ready("eu-1", 60)), clusters: "eu-1=2", with: closed,
			want: "Complete 1/1 | eu-1=2 | completed 0s",
		},
	})
}

func TestInvalidWindows(t *testing.T) {
	t.Parallel()
	for _, window := range []v1.RolloutWindow{{Schedule: "0 25 * * *"}, {Schedule: "0 0 31 2 *"}, {Schedule: "0 0 * * *", TimeZone: "Europe/Atlantis"}, {Schedule: "0 0 * * *", TimeZone: "Local"}} {
		r := Request{Revision: 2, Hash: "two", Clusters: clustersOf(t, "eu-1=0"), Now: start()}
		r.Spec.Windows = []v1.RolloutWindow{{Schedule: "0 0 * * *"}, window}
		if _, err := Next(r); err == nil || !strings.HasPrefix(err.Error(), "spec.rollout.windows[1]: ") {
			t.Errorf("%v: %v", window, err)
		}
	}
}
