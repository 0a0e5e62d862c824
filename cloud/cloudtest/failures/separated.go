package failures

import (
	"slices"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

// separated does what a hub does with an account that names an identity for deletions. What that identity lacks is no
// more tested than what the other one lacks.
func separated(f *fixture.Fixture) {
	f.Unauthorized = true
	writing, both := f.Session(fixture.Options{Writing: true}), f.Session(fixture.Options{Deletion: true})
	volume := f.Volume("data")
	if _, err := both.Access.Identity(f.Context()); err != nil {
		f.Errorf("identity: %v", err)
	}
	made := []cloud.SnapshotRef{f.Ready(both, volume).Ref}
	if csi.CapabilitiesOf(f.Provider).Copy == csi.CopyByCopy {
		copied, err := f.Session(fixture.Options{Region: 1, Deletion: true}).Snapshots.EnsureCopy(f.Context(), cloud.CopySpec{
			Name: "copy", Source: made[0], Tags: f.Spec(volume, "0").Tags, MaySend: true,
		})
		if err != nil {
			f.Fatalf("copying: %v", err)
		}
		made = append(made, copied.Ref)
	}
	sent := f.Script.Count(faults.OpDeleteSnapshot)
	err := writing.Snapshots.DeleteSnapshot(f.Context(), made[0], f.Owner)
	if cloud.ClassOf(err) != cloud.ClassDenied || fixture.CodeOf(err) == cloud.CodeForeign || f.Script.Count(faults.OpDeleteSnapshot) == sent {
		f.Errorf("deleting with the identity that writes: %v, want a denial by the provider", err)
	}
	checkDeletions(f, both)
	for i, ref := range slices.Backward(made) {
		region := f.Session(fixture.Options{Region: i, Deletion: true})
		if err := region.Snapshots.DeleteSnapshot(f.Context(), ref, f.Owner); err != nil {
			f.Errorf("deleting %q with the other identity: %v", ref.ID, err)
		}
	}
	for _, s := range f.Store.Snapshots() {
		if f.Owner.Owns(s.Tags) {
			f.Errorf("%q is left", s.ID)
		}
	}
}

// checkDeletions checks that the permission to delete is that of the other identity, and no other one is lacking.
func checkDeletions(f *fixture.Fixture, both cloud.Session) {
	f.Helper()
	checks, err := both.Access.Preflight(f.Context(), f.Owner)
	if err != nil {
		f.Fatalf("preflight: %v", err)
	}
	deletions := 0
	for _, c := range checks {
		if c.Deletion {
			deletions++
		}
		if !c.Granted && c.Unchecked == "" {
			f.Errorf("%s is lacking", c.Permission)
		}
	}
	if deletions != 1 {
		f.Errorf("%d permissions for deletions among %+v, want one", deletions, checks)
	}
}
