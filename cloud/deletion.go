package cloud

import (
	"context"
	"errors"
	"slices"
)

// WithDeletion returns a Connect whose sessions delete snapshots with the identity of
// spec.deletion, if the account has one. A hub that is taken over may use both identities: what
// they prevent is that keys that leaked, and requests by mistake, delete backups.
func WithDeletion(connect Connect) Connect {
	return func(ctx context.Context, config Config) (Session, error) {
		session, err := connect(ctx, config)
		if err != nil || config.Spec.Deletion == nil {
			return session, err
		}
		config.Spec = config.Spec.ForDeletion()
		deleting, err := connect(ctx, config)
		if err != nil {
			return Session{}, ofDeletion(err)
		}
		session.Snapshots = deletingSnapshots{session.Snapshots, deleting.Snapshots}
		session.Access = deletingAccess{session.Access, deleting.Access}
		return session, nil
	}
}

// WithBucketDeletion returns the same for buckets.
func WithBucketDeletion(open OpenBucket) OpenBucket {
	return func(ctx context.Context, config Config) (ObjectStore, error) {
		objects, err := open(ctx, config)
		if err != nil || config.Spec.Deletion == nil {
			return objects, err
		}
		config.Spec = config.Spec.ForDeletion()
		deleting, err := open(ctx, config)
		if err != nil {
			return nil, ofDeletion(err)
		}
		return deletingObjects{objects, deleting}, nil
	}
}

// deletingSnapshots deletes with another identity.
type deletingSnapshots struct {
	Snapshots

	deleting Snapshots
}

// DeleteSnapshot implements Snapshots.
func (s deletingSnapshots) DeleteSnapshot(ctx context.Context, ref SnapshotRef, owner Owner) error {
	return s.deleting.DeleteSnapshot(ctx, ref, owner)
}

// deletingObjects deletes with another identity.
type deletingObjects struct {
	ObjectStore

	deleting ObjectStore
}

// DeleteObject implements ObjectStore.
func (o deletingObjects) DeleteObject(ctx context.Context, key string) error {
	return o.deleting.DeleteObject(ctx, key)
}

// deletingAccess reports on both identities.
type deletingAccess struct {
	Access

	deleting Access
}

// Identity returns the identity that does not delete, if both are accepted.
func (a deletingAccess) Identity(ctx context.Context) (Identity, error) {
	who, err := a.Access.Identity(ctx)
	if err != nil {
		return who, err
	}
	_, err = a.deleting.Identity(ctx)
	return who, ofDeletion(err)
}

// Preflight checks each permission of the identity that needs it.
func (a deletingAccess) Preflight(ctx context.Context, owner Owner) ([]PermissionCheck, error) {
	checks, err := a.Access.Preflight(ctx, owner)
	if err != nil {
		return nil, err
	}
	deletions, err := a.deleting.Preflight(ctx, owner)
	if err != nil {
		return nil, ofDeletion(err)
	}
	return slices.Concat(
		slices.DeleteFunc(checks, func(c PermissionCheck) bool { return c.Deletion }),
		slices.DeleteFunc(deletions, func(c PermissionCheck) bool { return !c.Deletion }),
	), nil
}

// ofDeletion says in an error which identity it is about.
func ofDeletion(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	out := *e
	out.Message = "with the identity of spec.deletion: " + e.Message
	return &out
}
