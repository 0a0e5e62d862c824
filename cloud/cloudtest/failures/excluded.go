package failures

import (
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// estate holds objects of an account that belong to a hub, to another hub and to no hub.
type estate struct {
	*fixture.Fixture
	// ours and elsewhere are sessions of the hub, in the two regions.
	ours, elsewhere cloud.Session
	// volume is a cluster's, and bare has no tags.
	volume, bare cloud.VolumeRef
	// own, theirs and untagged are snapshots.
	own, theirs, untagged cloud.SnapshotRef
}

func newEstate(f *fixture.Fixture) *estate {
	f.Helper()
	e := &estate{
		Fixture: f, ours: f.Session(fixture.Options{}), elsewhere: f.Session(fixture.Options{Region: 1}),
		volume: f.Volume("data"), bare: f.Volume("bare"), untagged: f.ForeignSnapshot(f),
	}
	f.Store.EditVolume(e.bare.Handle, func(v *fake.Volume) { v.Tags = nil })
	e.theirs = f.Ensure(f.Theirs(), f.SpecOf(f.OtherHub(), e.volume, "0")).Ref
	f.Clock.Step(30 * time.Minute)
	e.own = f.Ready(e.ours, e.volume).Ref
	f.Clock.Step(30 * time.Minute)
	return e
}

func (e *estate) snapshot(of cloud.VolumeRef, owner cloud.Owner) func() error {
	return func() error {
		_, err := e.ours.Snapshots.EnsureSnapshot(e.Context(), e.SpecOf(owner, of, "1"))
		return err
	}
}

func (e *estate) copy(of cloud.SnapshotRef, owner cloud.Owner) func() error {
	return func() error {
		_, err := e.elsewhere.Snapshots.EnsureCopy(e.Context(), cloud.CopySpec{
			Name: cloud.Name(of.ID, owner.Hub), Source: of, MaySend: true, Tags: cloud.Tags{cloud.TagHub: owner.Hub, cloud.TagApp: owner.App},
		})
		return err
	}
}

// excluded asks for what only the provider can deny: with the owner of another hub, a session
// passes its own checks and sends the request.
func excluded(f *fixture.Fixture) {
	f.Unauthorized = true
	e := newEstate(f)
	other := f.OtherHub()
	for what, call := range map[string]func() error{
		"deleting the snapshot of another hub":       func() error { return e.ours.Snapshots.DeleteSnapshot(f.Context(), e.theirs, other) },
		"a snapshot with the tag of another hub":     e.snapshot(e.volume, other),
		"a snapshot of a volume that no cluster has": e.snapshot(e.bare, f.Owner),
		"copying the snapshot of another hub":        e.copy(e.theirs, f.Owner),
		"copying a snapshot without tags":            e.copy(e.untagged, f.Owner),
		"a copy with the tag of another hub":         e.copy(e.own, other),
	} {
		sent := f.Script.Count(faults.OpAny)
		err := call()
		if cloud.ClassOf(err) != cloud.ClassDenied || fixture.CodeOf(err) == cloud.CodeForeign || f.Script.Count(faults.OpAny) == sent {
			f.Errorf("%s: %v, want a denial by the provider", what, err)
		}
	}
}
