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
