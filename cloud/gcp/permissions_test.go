package gcp

import (
	"slices"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// TestPermissions checks that the documented role suffices, and each of its permissions is needed by one of the
// methods.
func TestPermissions(t *testing.T) {
	t.Parallel()
	api, keys := discover(t), newKeys(t)
	all := documented(t)
	e := newTestEnv(t, api, keys, gce.Options{})
	e.everything(t, all)
	if refused := e.server.Refused(); len(refused) > 0 {
		t.Errorf("with all permissions this is refused: %q", refused)
	}
	for _, permission := range all {
		if permission == "compute.disks.useReadOnly" {
			continue // The fake does not know which creations of a snapshot need it.
		}
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t, api, keys, gce.Options{})
			e.everything(t, slices.DeleteFunc(slices.Clone(all), func(p string) bool { return p == permission }))
			if refused := e.server.Refused(); !slices.Contains(refused, permission) {
				t.Errorf("without %s only this is refused: %q", permission, refused)
			}
		})
	}
}

// everything calls all methods with some permissions, and ignores the results.
func (e *testEnv) everything(t *testing.T, permissions iam.Permissions) {
	t.Helper()
	ctx, session, owner := t.Context(), connect(t, e.config(t)), cloud.Owner{Hub: "hub", App: "app"}
	disk := func(name string) cloud.VolumeRef { return e.disk(t, name, 20<<30) }
	ensure := func(name string, of cloud.VolumeRef) cloud.SnapshotRef {
		made, _ := session.Snapshots.EnsureSnapshot(ctx, spec(name, of))
		return made.Ref
	}
	own, late := ensure("own", disk("first")), disk("late")
	e.cloud.FailNext("by chance")
	failed := ensure("failed", disk("second"))
	e.clock.Step(time.Hour)

	e.server.SetPermissions(permissions)
	_, _ = session.Access.Identity(ctx)
	_, _ = session.Access.Preflight(ctx, owner)
	for _, err := range session.Snapshots.ListSnapshots(ctx, owner) {
		_ = err
		break
	}
	_ = ensure("more", disk("third"))
	_, _ = session.Snapshots.GetSnapshot(ctx, failed)
	e.cloud.SetPace(fake.Pace{Lag: time.Minute}) // The session reads the operation of an object that is not visible yet.
	_ = ensure("unseen", late)
	_ = session.Snapshots.DeleteSnapshot(ctx, own, owner)
}
