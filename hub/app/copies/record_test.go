package copies

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

// fakeRecord is the record of a member, which does nothing where a test says nothing.
type fakeRecord struct {
	deletedAt      func(types.UID) time.Time
	left           func(types.UID) int64
	delete, forget func(context.Context, ownership.Deletion) error
	confirm        func(context.Context) error
}

func (f *fakeRecord) DeletedAt(app types.UID) time.Time {
	if f.deletedAt == nil {
		return time.Time{}
	}
	return f.deletedAt(app)
}

func (f *fakeRecord) Left(app types.UID) int64 {
	if f.left == nil {
		return 0
	}
	return f.left(app)
}

func (f *fakeRecord) Delete(ctx context.Context, d ownership.Deletion) error {
	if f.delete == nil {
		return nil
	}
	return f.delete(ctx, d)
}

func (f *fakeRecord) Forget(ctx context.Context, d ownership.Deletion) error {
	if f.forget == nil {
		return nil
	}
	return f.forget(ctx, d)
}

func (f *fakeRecord) Confirm(ctx context.Context) error {
	if f.confirm == nil {
		return nil
	}
	return f.confirm(ctx)
}

// handOver hands over the Decision that the status of the application says: none without an application, or if its
// inventory is lost.
func (m *member) handOver() {
	switch {
	case m.app.UID == "":
		m.dispatcher.Forget(keyOf(m.app))
	case m.app.InventoryLost():
		m.dispatcher.state.ForgetDecision(keyOf(m.app))
	default:
		m.dispatcher.HandOver(m.dispatcher.DecisionOf(m.app, &m.app.Status))
	}
}

// reconnect drops what is remembered of the connection.
func (m *member) reconnect() {
	m.queue.memory.Close()
	m.queue.memory = m.dispatcher.state.Connect("a", false)
}
