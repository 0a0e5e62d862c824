package copies

import (
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// task represents what a queue does about one application.
type task struct {
	*state.Decision
	// order is that about the member; nil if it has none.
	order *state.Order
	// waiting is the origin in the member that waits for the user; empty if none does.
	waiting string
}

// taskOf returns the task that a Decision gives the queue. What waits for the user is what the last attempt found or,
// after a start of the hub, what the status says.
func (m *MemberQueue) taskOf(d *state.Decision) *task {
	t := &task{Decision: d, order: d.Order(m.name), waiting: d.Unknown[m.name]}
	if last, known := m.memory.Result(keyOf(d.App), d.App.UID); known {
		t.waiting = last.Unknown
	}
	return t
}

// stored returns the task that the stored status of an application says.
func (m *MemberQueue) stored(app *v1.EcommerceApp) *task {
	return m.taskOf(DecisionOf(app, &app.Status, state.Sources{}))
}

// deletes reports whether the copy is to be deleted.
func (t *task) deletes() bool { return t.order != nil && t.order.Delete }

// result returns that of an attempt at the order, without an outcome.
func (t *task) result() state.Result {
	return state.Result{App: t.App.UID, Hash: t.order.Hash, Revision: t.order.Revision}
}

// hadCopy reports whether the member is known to have had a copy.
func (t *task) hadCopy() bool { return t.order != nil && t.order.Applied > 0 }

// entry returns where the member was last, as an entry of the status; nil if that is not known.
func (t *task) entry() *v1.ClusterStatus {
	if t.order == nil {
		return nil
	}
	return &v1.ClusterStatus{Region: t.order.Region, Provider: t.order.Provider}
}

// unknownElsewhere returns the first of the other members that has what waits for the user; empty if none does.
func (t *task) unknownElsewhere(member string) string {
	var names []string
	for name, origin := range t.Unknown {
		if name != member && !recovery.Accepts(t.App, origin) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}
