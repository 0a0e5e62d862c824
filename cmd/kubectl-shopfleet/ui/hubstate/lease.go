package hubstate

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
)

// leasePeriod is the time between two readings of the Lease.
const leasePeriod = 10 * time.Second

// Lease says what is known of the Lease that the leader of the hub renews: while no hub does, nothing of what objects say
// is of now.
type Lease struct {
	Source
	// Renewed is the time of the last renewal; zero if there was none.
	Renewed time.Time
	// Until is the end of the time for which the Lease counts as renewed; zero if no hub leads.
	Until time.Time
}

// IsKnown reports whether the last reading succeeded.
func (l Lease) IsKnown() bool { return l.Read && l.Problem == "" }

// IsRenewed reports whether a hub is known to lead at a time.
func (l Lease) IsRenewed(now time.Time) bool { return l.IsKnown() && now.Before(l.Until) }

// leaseReader reads the Lease again and again.
type leaseReader struct {
	// get returns an empty Lease if there is none.
	get     func(context.Context) (*coordinationv1.Lease, error)
	clock   clock.WithTicker
	touched func()
	// first is closed after the first reading.
	first chan struct{}

	mu    sync.Mutex
	known Lease
}

// run blocks until ctx is done, and reads meanwhile.
func (l *leaseReader) run(ctx context.Context) {
	ticker := l.clock.NewTicker(leasePeriod)
	defer ticker.Stop()
	for first := l.first; ; first = nil {
		found, err := l.get(ctx)
		if ctx.Err() != nil {
			return
		}
		l.note(found, err)
		if first != nil {
			close(first)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// note notes the result of a reading.
func (l *leaseReader) note(found *coordinationv1.Lease, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		if l.known.Problem == "" {
			l.known.Since = l.clock.Now()
		}
		l.known.Problem, l.known.Forbidden = err.Error(), apierrors.IsForbidden(err)
	default:
		l.known = Lease{Source: Source{Kind: l.known.Kind, Read: true}, Until: doctor.LeadsUntil(found)}
		if found.Spec.RenewTime != nil {
			l.known.Renewed = found.Spec.RenewTime.Time
		}
	}
	l.touched()
}

func (l *leaseReader) current() Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}
