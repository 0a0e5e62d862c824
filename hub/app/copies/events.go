package copies

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// recordWrite records metrics and log of a copy that was written. It has no event, which would cost the
// hub a write for each member: where an application is placed is one event.
func (m *MemberQueue) recordWrite(ctx context.Context, app *v1.EcommerceApp, outcome apply.Outcome) {
	if outcome != apply.Created && outcome != apply.Updated {
		return
	}
	if since, ok := m.state.Since(app); ok {
		m.options.FanOut.WithLabelValues(m.name).Observe(since.Seconds())
	}
	log.FromContext(ctx).V(1).Info("Applied copy", "outcome", outcome, "generation", app.Generation)
}

// recordEvents records events for what changed.
func (m *MemberQueue) recordEvents(app *v1.EcommerceApp, last *state.Result, next state.Result) {
	last = cmp.Or(last, &state.Result{})
	switch {
	case next.Gone && !last.Gone:
		m.options.Recorder.Eventf(app, Subject(m.name), corev1.EventTypeNormal, "CopyDeleted", "Delete", "The copy in %s is gone", m.name)
	case next.Failure != nil && (last.Failure == nil || last.Failure.Reason != next.Failure.Reason):
		reason := next.Failure.Reason
		if reason == v1.ReasonApplyFailed {
			reason = "SyncFailed"
		}
		m.options.Recorder.Eventf(app, Subject(m.name), corev1.EventTypeWarning, reason, "Apply", "%s: %s", m.name, next.Failure.Message)
	}
}
