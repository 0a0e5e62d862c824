package health

import (
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const day = 24 * time.Hour

// issued returns the time at which the credentials of these tests were issued.
func issued() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// living returns credentials that live for a time.
func living(life time.Duration) Credentials {
	return Credentials{Member: "eu-1", IssuedAt: issued(), ExpiresAt: issued().Add(life)}
}

func TestRenewAt(t *testing.T) {
	t.Parallel()
	seen := map[time.Time]bool{}
	for n := range 50 {
		c := living(100 * day)
		c.Member = "member-" + strconv.Itoa(n)
		at := c.RenewAt().Sub(issued())
		if at > 50*day || at < 40*day {
			t.Errorf("%s is renewed after %s, want after 40 to 50 of 100 days", c.Member, at)
		}
		seen[c.RenewAt()] = true
		if again := c.RenewAt(); !again.Equal(c.RenewAt()) {
			t.Error("the time changes")
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d times for 50 members, want them spread", len(seen))
	}
	unknown := Credentials{ExpiresAt: issued()}
	if at := unknown.RenewAt(); !at.Equal(issued().Add(-14 * day)) {
		t.Errorf("credentials of unknown life are renewed at %s", at)
	}
	for name, c := range map[string]Credentials{"without expiry": {IssuedAt: issued()}, "unknown": {}} {
		if at := c.NextRenewal(issued()); !at.IsZero() || !c.RenewAt().IsZero() {
			t.Errorf("%s: renewed at %s", name, at)
		}
	}
}

// TestNextRenewal checks that a hub whose clock is so far ahead that each new token is due at once does not renew it
// at once.
func TestNextRenewal(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		life, last, want time.Duration // since issued
	}{
		"renewed by another hub":         {100 * day, -1, 0},
		"renewed when it was issued":     {100 * day, 0, 0},
		"a clock that is ahead":          {100 * day, 70 * day, 95 * day},
		"a short life":                   {10 * time.Minute, 9 * time.Minute, 11*time.Minute + 30*time.Second},
		"a life that is shorter than it": {time.Minute, time.Minute, 2 * time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := living(tt.life)
			want, last := issued().Add(tt.want), issued().Add(tt.last)
			if tt.last < 0 {
				last = time.Time{}
			}
			if tt.want == 0 {
				want = c.RenewAt()
			}
			if got := c.NextRenewal(last); !got.Equal(want) {
				t.Errorf("renewed at %s, want %s", got, want)
			}
		})
	}
}

func TestWarnAt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		c    Credentials
		want time.Duration // before the expiry
	}{
		"a year":           {living(365 * day), 7 * day},
		"three weeks":      {living(21 * day), 7 * day},
		"two days":         {living(2 * day), 16 * time.Hour},
		"of unknown life":  {Credentials{ExpiresAt: issued()}, 7 * day},
		"issued too early": {Credentials{IssuedAt: issued().Add(day), ExpiresAt: issued()}, 7 * day},
	} {
		if got := tt.c.ExpiresAt.Sub(tt.c.WarnAt()); got != tt.want {
			t.Errorf("%s: warned %s before the expiry, want %s", name, got, tt.want)
		}
	}
	if at := (Credentials{}).WarnAt(); !at.IsZero() {
		t.Errorf("warned at %s about credentials that do not expire", at)
	}
}

func TestCredentialsCondition(t *testing.T) {
	t.Parallel()
	const byHand, byUser = "kubectl shopfleet renew eu-1 --member-kubeconfig FILE", "store new ones in the registration Secret"
	denied := &Failure{Reason: v1.ReasonRenewalDenied, Message: "the cluster denies"}
	away := &Failure{Reason: v1.ReasonRenewalFailed, Message: "the cluster does not answer"}
	tests := map[string]struct {
		after   time.Duration
		renewed bool
		failure *Failure
		status  metav1.ConditionStatus
		reason  string
		says    string
	}{
		"long before":                 {50 * day, false, nil, metav1.ConditionTrue, v1.ReasonNotDue, "does not renew them"},
		"long before, renewed":        {50 * day, true, nil, metav1.ConditionTrue, v1.ReasonNotDue, "the hub renews them"},
		"one failure, long before":    {50 * day, true, away, metav1.ConditionTrue, v1.ReasonNotDue, "the hub renews them"},
		"a denial":                    {50 * day, true, denied, metav1.ConditionFalse, v1.ReasonRenewalDenied, "run kubectl shopfleet join eu-1 again"},
		"a denial of another account": {50 * day, false, denied, metav1.ConditionTrue, v1.ReasonNotDue, "does not renew them"},
		"a week before":               {93 * day, false, nil, metav1.ConditionFalse, v1.ReasonExpiring, byUser},
		"a week before, renewed":      {93 * day, true, nil, metav1.ConditionFalse, v1.ReasonExpiring, byHand},
		"a week before, and failing":  {93 * day, true, away, metav1.ConditionFalse, v1.ReasonRenewalFailed, "does not answer: run " + byHand},
		"expired":                     {100 * day, false, nil, metav1.ConditionFalse, v1.ReasonExpired, byUser},
		"expired, renewed":            {101 * day, true, denied, metav1.ConditionFalse, v1.ReasonExpired, byHand},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := living(100 * day)
			c.Renewed, c.Failure = tt.renewed, tt.failure
			got := c.Condition(issued().Add(tt.after))
			if got.Status != tt.status || got.Reason != tt.reason || !strings.Contains(got.Message, tt.says) || !strings.Contains(got.Message, "2030-04-11T00:00:00Z") {
				t.Errorf("%+v, want %s %s with the expiry and %q", got, tt.status, tt.reason, tt.says)
			}
		})
	}
	if got := (Credentials{Renewed: true, Failure: away}).Condition(issued()); got != (Condition{}) {
		t.Errorf("credentials that do not expire have %+v", got)
	}
}

func TestRejected(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		v1.ReasonUnauthorized: "m: run kubectl shopfleet renew eu-1 --member-kubeconfig FILE",
		v1.ReasonExpired:      "m: run kubectl shopfleet renew eu-1 --member-kubeconfig FILE",
		v1.ReasonProbeFailed:  "m",
	} {
		f := &Failure{Step: StepReach, Reason: reason, Message: "m"}
		got := Credentials{Member: "eu-1", Renewed: true}.Rejected(f)
		if got.Message != want || got.Reason != reason || f.Message != "m" {
			t.Errorf("%s: %+v of %+v, want message %q", reason, got, f, want)
		}
	}
	byUser := Credentials{Member: "eu-1"}.Rejected(&Failure{Step: StepReach, Reason: v1.ReasonExpired, Message: "m"})
	if want := "m: store new ones in the registration Secret, or run kubectl shopfleet join eu-1"; byUser.Message != want {
		t.Errorf("credentials that the hub does not renew: message %q, want %q", byUser.Message, want)
	}
}
