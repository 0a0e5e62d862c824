package health

import (
	"testing"
	"time"
)

const silence = 40 * time.Second

// look represents a sample of a Lease at a time in seconds.
type look struct {
	at   int
	sign LeaseSample
}

func renewed(at int64) LeaseSample { return LeaseSample{Present: true, Holder: "pod-1", Renewed: at} }

func TestLeaseMonitor(t *testing.T) {
	t.Parallel()
	gone, released := LeaseSample{}, LeaseSample{Present: true, Renewed: 9}
	tests := map[string]struct {
		looks []look
		want  LeaseState
	}{
		"one observation is not enough":       {[]look{{0, renewed(1)}}, LeaseUnknown},
		"a change is a sign of life":          {[]look{{0, renewed(1)}, {1, renewed(2)}}, LeaseRenewed},
		"so is another holder":                {[]look{{0, renewed(1)}, {1, LeaseSample{Present: true, Holder: "pod-2", Renewed: 1}}}, LeaseRenewed},
		"no Lease is no agent":                {[]look{{0, gone}}, LeaseMissing},
		"an agent that came":                  {[]look{{0, gone}, {1, renewed(1)}}, LeaseRenewed},
		"a clock that stands still, too soon": {[]look{{0, renewed(1)}, {5, renewed(1)}, {10, renewed(1)}, {39, renewed(1)}}, LeaseUnknown},
		"a clock that stands still":           {[]look{{0, renewed(1)}, {5, renewed(1)}, {10, renewed(1)}, {40, renewed(1)}}, LeaseExpired},
		"a clock that goes backwards":         {[]look{{0, renewed(5)}, {40, renewed(4)}}, LeaseRenewed},
		"released is not expired yet":         {[]look{{0, renewed(1)}, {1, renewed(2)}, {6, released}, {11, released}, {16, released}}, LeaseRenewed},
		"released, and not acquired": {
			[]look{{0, renewed(1)}, {1, renewed(2)}, {6, released}, {20, released}, {41, released}}, LeaseExpired,
		},
		"a deleted Lease is created again": {
			[]look{{0, renewed(1)}, {1, renewed(2)}, {6, gone}, {11, renewed(1)}}, LeaseRenewed,
		},
		"a Lease that is gone for good": {
			[]look{{0, renewed(1)}, {1, renewed(2)}, {6, gone}, {20, gone}, {41, gone}}, LeaseMissing,
		},
		"a hub that was paused heard nothing": {[]look{{0, renewed(1)}, {1, renewed(2)}, {300, renewed(2)}}, LeaseRenewed},
		"back after silence": {
			[]look{{0, renewed(1)}, {5, renewed(1)}, {10, renewed(1)}, {40, renewed(1)}, {41, renewed(2)}}, LeaseRenewed,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Unix(1000, 0)
			p := LeaseMonitor{}.Resume(begin)
			for _, l := range tt.looks {
				p = p.After(l.sign, begin.Add(time.Duration(l.at)*time.Second), silence)
			}
			if p.State != tt.want {
				t.Errorf("beat %d, want %d", p.State, tt.want)
			}
		})
	}
}

// TestLeaseMonitorVersion checks that the version is that of the last read, also of a silent agent.
func TestLeaseMonitorVersion(t *testing.T) {
	t.Parallel()
	p := LeaseMonitor{}.Resume(time.Unix(1000, 0))
	for _, want := range []string{"v1.2.3", "v1.3.0", ""} {
		p = p.After(LeaseSample{Present: want != "", Version: want}, time.Unix(1001, 0), silence)
		if got := p.Version(); got != want {
			t.Errorf("version %q, want %q", got, want)
		}
	}
}

// TestLeaseMonitorSurvivesAnOutage checks that a cluster that did not answer for minutes says nothing about its
// agent.
func TestLeaseMonitorSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1000, 0)
	p := LeaseMonitor{}.Resume(begin).After(renewed(1), begin, silence).After(renewed(2), begin.Add(time.Second), silence)
	back := begin.Add(10 * time.Minute)
	p = p.Resume(back)
	for i := range 5 {
		p = p.After(renewed(2), back.Add(time.Duration(i)*time.Second), silence)
	}
	if p.State != LeaseRenewed {
		t.Errorf("beat %d, want alive", p.State)
	}
	if !p.LastRenewal.Equal(begin.Add(time.Second)) {
		t.Errorf("heard at %s", p.LastRenewal)
	}
}
