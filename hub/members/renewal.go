package members

import (
	"bytes"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/shopfleet/shopfleet/hub/members/health"
)

// renewFactor bounds the delay between failed renewals, as a multiple of Periods.Renew.
const renewFactor = 64

// Renewed represents a kubeconfig whose token the hub has renewed, and which the member
// accepts. It takes effect when it is stored and set.
type Renewed struct {
	// Replaces is the kubeconfig that was renewed. Another one must not be replaced.
	Replaces []byte
	// Kubeconfig is the same kubeconfig with the new token.
	Kubeconfig []byte

	request string
}

// Renewed returns the renewed kubeconfig of a member that is not set yet, and false if
// there is none. OnChange reports a new one.
func (f *Fleet) Renewed(name string) (Renewed, bool) {
	a := f.accessor(name)
	if a == nil {
		return Renewed{}, false
	}
	r := a.offered()
	if r == nil {
		return Renewed{}, false
	}
	return *r, true
}

func (a *accessor) offer(r *Renewed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.renewed = r
}

func (a *accessor) offered() *Renewed {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.renewed
}

// renewal is the state of the renewal of a member's credentials.
type renewal struct {
	// last is the time of the last successful renewal since the hub started.
	last    time.Time
	failure *health.Failure
	// failed is the fingerprint of the kubeconfig that the failure is about. Another one, as
	// join stores, may be renewed.
	failed  string
	backoff wait.Backoff
	// answered is the last RenewRequest for which a token was renewed.
	answered string
}

func (f *Fleet) newRenewBackoff() wait.Backoff {
	const steps = 10 // More than it takes to reach the cap.
	return wait.Backoff{
		Duration: f.periods.Renew, Factor: retryFactor, Jitter: retryJitter, Cap: renewFactor * f.periods.Renew, Steps: steps,
	}
}

// credentials returns the credentials of the connection or, without one, the requested ones.
func (l *loop) credentials() health.Credentials {
	access := l.access
	if l.connection != nil {
		access = l.connection.Access
	}
	c := health.Credentials{Member: l.name}
	if access == nil {
		return c
	}
	c.IssuedAt, c.ExpiresAt = access.IssuedAt, access.ExpiresAt
	c.Renewed = access.Account != "" && access.Account == l.target.RenewedAccount
	switch {
	case l.renewal.failure != nil && l.renewal.failed == access.Fingerprint:
		c.Failure = l.renewal.failure
	case l.inspected.RenewalDenied && l.inspectedFingerprint == access.Fingerprint:
		// Known long before the first renewal.
		c.Failure = health.RenewalDenied(access.Account)
	}
	return c
}

// renews reports whether the hub renews the credentials in use. It does not while others
// are requested, which are connected first.
func (l *loop) renews() bool {
	return l.connection != nil && l.access != nil && l.access.Fingerprint == l.connection.Access.Fingerprint && l.credentials().Renewed
}

// scheduleRenewal schedules the next renewal of the credentials in use.
func (l *loop) scheduleRenewal() {
	l.due[taskRenew] = time.Time{}
	switch {
	case !l.renews():
	case l.target.RenewRequest != "" && l.target.RenewRequest != l.renewal.answered:
		l.renewal.backoff = l.fleet.newRenewBackoff()
		l.due[taskRenew] = l.now()
	default:
		l.due[taskRenew] = l.credentials().NextRenewal(l.renewal.last)
	}
}

func (l *loop) startRenew(ctx context.Context) {
	if !l.renews() {
		return
	}
	renew, raw, uid := l.connection.Renew, l.target.Kubeconfig, l.state.Info.UID
	request := l.target.RenewRequest
	l.start(ctx, taskRenew, func(ctx context.Context) (r result) {
		var kubeconfig []byte
		if kubeconfig, r.failure = renew(ctx, raw, uid); r.failure == nil {
			r.renewed = &Renewed{Replaces: raw, Kubeconfig: kubeconfig, request: request}
		}
		return r
	})
}

// renewalEnded records the result of a renewal. A new token is offered until it is set; if it is not
// stored for long, it is renewed again. It is connected with before and again after it is stored: a
// token that is in use but not stored would be lost with the process.
func (l *loop) renewalEnded(r result) {
	if r.failure != nil {
		l.log.Info("Renewing credentials failed", "reason", r.failure.Reason, "message", r.failure.Message)
		l.renewal.failure, l.renewal.failed = r.failure, l.connection.Access.Fingerprint
		l.schedule(taskRenew, l.renewal.backoff.Step())
		return
	}
	l.log.Info("Credentials renewed")
	l.renewal = renewal{last: l.now(), answered: r.renewed.request, backoff: l.fleet.newRenewBackoff()}
	l.offer(r.renewed)
	l.scheduleRenewal()
	l.fleet.notify(l.name)
}

// withdrawOffer withdraws an offer when the kubeconfig in use is the offered one, or is not the one
// that the offer replaces.
func (l *loop) withdrawOffer() {
	if offer := l.offered(); offer != nil {
		switch {
		case bytes.Equal(l.target.Kubeconfig, offer.Kubeconfig):
			l.state.HandledRenewRequest = offer.request
			l.offer(nil)
		case !bytes.Equal(l.target.Kubeconfig, offer.Replaces):
			l.renewal.answered = ""
			l.offer(nil)
		}
	}
	l.scheduleRenewal()
}
