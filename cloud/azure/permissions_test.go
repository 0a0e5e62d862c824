package azure

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// TestPermissions checks that the documented roles suffice, and each of their actions is needed by one of the
// methods.
func TestPermissions(t *testing.T) {
	t.Parallel()
	if refused := everything(t, documented(t), documented(t)); len(refused) > 0 {
		t.Errorf("with all roles this is refused: %q", refused)
	}
	each := documented(t)
	delete(each, hubGroupEU) // It has the role of hubGroup, and only copies use it.
	for group, role := range each {
		for _, action := range role.Actions {
			t.Run(group+" "+action, func(t *testing.T) {
				t.Parallel()
				without := documented(t)
				without[group].NotActions = []string{action}
				named := action + " on resource group "
				needed := func(refused string) bool { return strings.EqualFold(refused, named+group) }
				if refused := everything(t, documented(t), without); !slices.ContainsFunc(refused, needed) {
					t.Errorf("only this is refused: %q", refused)
				}
			})
		}
	}
}

// everything prepares a cloud with some roles, and calls all methods with others. It returns
// what these do not allow.
func everything(t *testing.T, before, roles map[string]*iam.Role) []string {
	t.Helper()
	e := newTestEnvAs(t, before)
	ctx, session := t.Context(), e.connect(t, nil)
	ensure := func(name, disk string) cloud.SnapshotRef {
		spec := snapshotOf(e.disk(disk, gib))
		spec.Name = name
		made, _ := session.Snapshots.EnsureSnapshot(ctx, spec)
		return made.Ref
	}
	own := ensure("own", "first")
	e.clock.Step(time.Hour)

	e.become(t, roles)
	session = e.connect(t, nil)
	_, _ = session.Access.Identity(ctx)
	_, _ = session.Access.Preflight(ctx, owner(ours()))
	for _, err := range session.Snapshots.ListSnapshots(ctx, owner(ours())) {
		_ = err
		break
	}
	_ = ensure("more", "second")
	elsewhere := e.connect(t, func(c *cloud.Config) { configure(c, cloudtest.Options{Region: 1, Key: set("eu")}) })
	_, _ = elsewhere.Snapshots.EnsureCopy(ctx, cloud.CopySpec{Name: "copy", Source: own, Tags: ours(), MaySend: true})
	_ = session.Snapshots.DeleteSnapshot(ctx, own, owner(ours()))
	return e.server.Refused()
}

// TestLinkedPermissions checks that an error names the permission that is missing on what a request links to, and not
// the request's own permission.
func TestLinkedPermissions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		group, action string
		call          func(*testEnv, cloud.Session, cloud.SnapshotRef) error
	}{
		"a disk of a cluster": {nodeGroup, "Microsoft.Compute/disks/beginGetAccess/action", func(e *testEnv, session cloud.Session, _ cloud.SnapshotRef) error {
			spec := snapshotOf(e.disk("second", gib))
			spec.Name = "second"
			_, err := session.Snapshots.EnsureSnapshot(t.Context(), spec)
			return err
		}},
		"a disk encryption set": {keyGroup, "Microsoft.Compute/diskEncryptionSets/read", func(e *testEnv, _ cloud.Session, from cloud.SnapshotRef) error {
			elsewhere := e.connect(t, func(c *cloud.Config) { configure(c, cloudtest.Options{Region: 1, Key: set("eu")}) })
			_, err := elsewhere.Snapshots.EnsureCopy(t.Context(), cloud.CopySpec{Name: "copy", Source: from, Tags: ours(), MaySend: true})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			made, err := e.connect(t, nil).Snapshots.EnsureSnapshot(t.Context(), snapshotOf(e.disk("first", gib)))
			if err != nil {
				t.Fatal(err)
			}
			e.clock.Step(time.Hour)
			without := documented(t)
			without[strings.ToLower(tt.group)].NotActions = []string{tt.action}
			e.become(t, without)
			if err := tt.call(e, e.connect(t, nil), made.Ref); cloud.ClassOf(err) != cloud.ClassDenied || codeOf(err) != tt.action {
				t.Errorf("%v, want class %q with code %s", err, cloud.ClassDenied, tt.action)
			}
		})
	}
}
