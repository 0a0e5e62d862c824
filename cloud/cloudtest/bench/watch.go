package bench

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// watch sees every error that sessions return, so that each case checks what is true of
// all of them.
type watch struct {
	mu     sync.Mutex
	errors []error
}

func (w *watch) wrap(s cloud.Session) cloud.Session {
	return cloud.Session{
		Snapshots: watchedSnapshots{s.Snapshots, w},
		Volumes:   watchedVolumes{s.Volumes, w},
		Access:    watchedAccess{s.Access, w},
	}
}

func (w *watch) saw(err error) {
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.errors = append(w.errors, err)
	}
}

// check is run after a case.
func (w *watch) check(s *Stand) {
	s.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, err := range w.errors {
		CheckError(s, s.Provider, s.Secrets, err)
	}
	if s.Validate == nil {
		return
	}
	for _, call := range s.Script.Calls() {
		if err := s.Validate(call); err != nil {
			s.Errorf("a request of %s that the vendor's description does not allow: %v\n%s", call.Op, err, call.Request)
		}
	}
}

// CheckError fails unless an error of a provider is of good form, and tells no secret.
func CheckError(t testing.TB, provider v1.Provider, secrets []string, err error) {
	t.Helper()
	for _, secret := range secrets {
		if secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("an error of %d characters tells a secret of %d characters", len(err.Error()), len(secret))
			return // Which would tell it again.
		}
	}
	var e *cloud.Error
	if !errors.As(err, &e) {
		t.Errorf("%T is not a *cloud.Error: %v", err, err)
		return
	}
	switch e.Class {
	case cloud.ClassNotFound, cloud.ClassConflict, cloud.ClassTransient, cloud.ClassAmbiguous, cloud.ClassQuota, cloud.ClassDenied,
		cloud.ClassAuthExpired, cloud.ClassInvalid, cloud.ClassInUse, cloud.ClassLocked, cloud.ClassUnsupported:
	case cloud.ClassThrottled:
		if e.RetryAfter <= 0 {
			t.Errorf("throttled without saying when to ask again: %v", err)
		}
	default:
		t.Errorf("unknown class %q of %v", e.Class, err)
	}
	if e.Provider != provider || e.Op == "" {
		t.Errorf("an error of provider %q and operation %q, want %q and one: %v", e.Provider, e.Op, provider, err)
	}
	if len(e.Message) > 1024 || strings.ContainsAny(e.Message, "\r\n") || e.RetryAfter < 0 {
		t.Errorf("a message of %d characters and RetryAfter %s; want one line of at most 1024 and 0 or more: %q", len(e.Message), e.RetryAfter, e.Message)
	}
}

type watchedSnapshots struct {
	cloud.Snapshots
	w *watch
}

func (o watchedSnapshots) EnsureSnapshot(ctx context.Context, spec cloud.SnapshotSpec) (cloud.Snapshot, error) {
	got, err := o.Snapshots.EnsureSnapshot(ctx, spec)
	o.w.saw(err)
	return got, err
}

func (o watchedSnapshots) EnsureCopy(ctx context.Context, spec cloud.CopySpec) (cloud.Snapshot, error) {
	got, err := o.Snapshots.EnsureCopy(ctx, spec)
	o.w.saw(err)
	return got, err
}

func (o watchedSnapshots) GetSnapshot(ctx context.Context, ref cloud.SnapshotRef) (cloud.Snapshot, error) {
	got, err := o.Snapshots.GetSnapshot(ctx, ref)
	o.w.saw(err)
	return got, err
}

func (o watchedSnapshots) ListSnapshots(ctx context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	return func(yield func(cloud.Snapshot, error) bool) {
		for snapshot, err := range o.Snapshots.ListSnapshots(ctx, owner) {
			o.w.saw(err)
			if !yield(snapshot, err) {
				return
			}
		}
	}
}

func (o watchedSnapshots) DeleteSnapshot(ctx context.Context, ref cloud.SnapshotRef, owner cloud.Owner) error {
	err := o.Snapshots.DeleteSnapshot(ctx, ref, owner)
	o.w.saw(err)
	return err
}

type watchedVolumes struct {
	cloud.Volumes
	w *watch
}

func (o watchedVolumes) DescribeVolume(ctx context.Context, ref cloud.VolumeRef) (cloud.Volume, error) {
	got, err := o.Volumes.DescribeVolume(ctx, ref)
	o.w.saw(err)
	return got, err
}

func (o watchedVolumes) EnsureVolume(ctx context.Context, spec cloud.VolumeSpec) (cloud.Volume, error) {
	got, err := o.Volumes.EnsureVolume(ctx, spec)
	o.w.saw(err)
	return got, err
}

func (o watchedVolumes) DeleteVolume(ctx context.Context, ref cloud.VolumeRef, owner cloud.Owner) error {
	err := o.Volumes.DeleteVolume(ctx, ref, owner)
	o.w.saw(err)
	return err
}

type watchedAccess struct {
	cloud.Access
	w *watch
}

func (o watchedAccess) Identity(ctx context.Context) (cloud.Identity, error) {
	got, err := o.Access.Identity(ctx)
	o.w.saw(err)
	return got, err
}

func (o watchedAccess) Preflight(ctx context.Context, owner cloud.Owner) ([]cloud.PermissionCheck, error) {
	got, err := o.Access.Preflight(ctx, owner)
	o.w.saw(err)
	return got, err
}
