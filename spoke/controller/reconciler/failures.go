package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// lastingAfter is the time after which an object that the API server fails on waits for a user.
const lastingAfter = 3 * time.Minute

// An object that the API server fails on is tried again after as long as that has lasted, within these bounds.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// failures are the components of an object whose writes fail, and since when.
type failures struct {
	uid        types.UID
	generation int64
	since      map[string]time.Time
}

// escalate makes a problem that may pass by itself one that waits for a user if it has lasted, or if the
// status says so already: a process that starts does not know since when it lasts.
func (r *reconciler[T]) escalate(p *pass[T], now time.Time) {
	known := r.memory.of(client.ObjectKeyFromObject(p.object))
	last := known.failures
	if last.uid != p.object.GetUID() || last.generation != p.object.GetGeneration() {
		last = failures{}
	}
	next := failures{uid: p.object.GetUID(), generation: p.object.GetGeneration(), since: make(map[string]time.Time)}
	stalled := meta.FindStatusCondition(*r.kind.Status(p.object).Conditions, v1.ConditionStalled)
	for i := range p.problems {
		problem := &p.problems[i]
		if !problem.Lasting {
			continue
		}
		since, known := last.since[problem.Component]
		if !known {
			since = now
		}
		next.since[problem.Component] = since
		p.retryIn = retry.Sooner(p.retryIn, min(max(now.Sub(since), firstRetry), lastRetry))
		problem.Blocking = now.Sub(since) >= r.member.Settings.Waits.Scaled(lastingAfter) || saidBefore(stalled, next.generation, *problem)
	}
	if len(next.since) == 0 {
		next = failures{}
	}
	known.failures = next
}

// saidBefore reports whether a condition Stalled of this generation is about a problem.
func saidBefore(stalled *metav1.Condition, generation int64, p component.Problem) bool {
	return stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.ObservedGeneration == generation &&
		stalled.Reason == p.Reason && stalled.Message == p.Text()
}
