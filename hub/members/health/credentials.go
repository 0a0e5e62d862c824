package health

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// warnBefore is how long before their expiry credentials are reported; a third of
	// their life if that is shorter.
	warnBefore = 7 * 24 * time.Hour
	// Credentials of a known life are renewed when half of it remains, and up to a tenth of
	// it earlier, so that members that joined together are not renewed together. Those of an
	// unknown life are renewed renewBefore their expiry.
	renewRemaining = 2
	renewSpread    = 10
	renewBefore    = 2 * warnBefore
	// renewPause is the part of the life for which credentials are not renewed again, so
	// that a clock that is ahead of the member's causes no loop.
	renewPause = 4
	// minPause bounds the time between two renewals of credentials of any life.
	minPause = time.Minute
)

// Credentials represents the credentials of a member: how long they live, and who renews
// them.
type Credentials struct {
	// Member is the name of the member.
	Member string
	// IssuedAt and ExpiresAt bound their life; zero if unknown.
	IssuedAt, ExpiresAt time.Time
	// Renewed is true if the hub renews them.
	Renewed bool
	// Failure is why the last renewal failed or the next one will; nil if neither is known.
	Failure *Failure
}

// RenewalDenied returns the failure for credentials that do not allow to request a token for
// their ServiceAccount, given as namespace/name.
func RenewalDenied(account string) *Failure {
	return &Failure{Step: StepPermissions, Reason: v1.ReasonRenewalDenied, Message: "the cluster denies the hub a token for ServiceAccount " + account}
}

// life returns how long the credentials live altogether; 0 if unknown.
func (c Credentials) life() time.Duration {
	if c.IssuedAt.IsZero() || c.ExpiresAt.IsZero() {
		return 0
	}
	return max(c.ExpiresAt.Sub(c.IssuedAt), 0)
}

// RenewAt returns when the hub should renew the credentials; zero if they do not expire.
func (c Credentials) RenewAt() time.Time {
	if c.ExpiresAt.IsZero() {
		return time.Time{}
	}
	life := c.life()
	if life == 0 {
		return c.ExpiresAt.Add(-renewBefore)
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(c.Member)) // Never fails.
	fraction := float64(hash.Sum32()) / (math.MaxUint32 + 1)
	return c.ExpiresAt.Add(-life/renewRemaining - time.Duration(fraction*float64(life/renewSpread)))
}

// NextRenewal returns when the hub should renew the credentials, which it last renewed at
// the given time; zero if they do not expire.
func (c Credentials) NextRenewal(last time.Time) time.Time {
	next := c.RenewAt()
	if next.IsZero() || last.IsZero() {
		return next
	}
	if after := last.Add(max(c.life()/renewPause, minPause)); after.After(next) {
		return after
	}
	return next
}

// WarnAt returns when the expiry of the credentials is reported; zero if they do not
// expire.
func (c Credentials) WarnAt() time.Time {
	if c.ExpiresAt.IsZero() {
		return time.Time{}
	}
	before := warnBefore
	if life := c.life(); life > 0 {
		before = min(before, life/3)
	}
	return c.ExpiresAt.Add(-before)
}

// Condition returns the condition CredentialsRenewed at a time. Its Status is empty if the
// credentials do not expire.
func (c Credentials) Condition(now time.Time) Condition {
	at := c.ExpiresAt.UTC().Format(time.RFC3339)
	switch {
	case c.ExpiresAt.IsZero():
		return Condition{}
	case !now.Before(c.ExpiresAt):
		return no(v1.ReasonExpired, "the credentials expired at "+at+": "+remedy(c.Member, c.Renewed))
	case c.Renewed && c.Failure != nil && c.Failure.Reason == v1.ReasonRenewalDenied:
		return no(c.Failure.Reason, fmt.Sprintf("%s: run kubectl shopfleet join %s again, which grants it; the credentials expire at %s",
			c.Failure.Message, c.Member, at))
	case now.Before(c.WarnAt()) && c.Renewed:
		return yes(v1.ReasonNotDue, "the credentials expire at "+at+", and the hub renews them well before")
	case now.Before(c.WarnAt()):
		return yes(v1.ReasonNotDue, "the credentials expire at "+at+", and the hub does not renew them")
	case c.Renewed && c.Failure != nil:
		return no(c.Failure.Reason, fmt.Sprintf("the credentials expire at %s, and renewing them fails: %s: %s",
			at, c.Failure.Message, remedy(c.Member, c.Renewed)))
	default:
		return no(v1.ReasonExpiring, "the credentials expire at "+at+": "+remedy(c.Member, c.Renewed))
	}
}

// Rejected returns a failure to connect, with the command to run if the cluster rejected
// the credentials.
func (c Credentials) Rejected(f *Failure) *Failure {
	if f.Reason != v1.ReasonUnauthorized && f.Reason != v1.ReasonExpired {
		return f
	}
	advised := *f
	advised.Message += ": " + remedy(c.Member, c.Renewed)
	return &advised
}

// remedy returns the command that renews credentials without credentials of the hub.
func remedy(member string, renewed bool) string {
	if renewed {
		return "run kubectl shopfleet renew " + member + " --member-kubeconfig FILE"
	}
	return "store new ones in the registration Secret, or run kubectl shopfleet join " + member
}
