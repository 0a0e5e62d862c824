package basics

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func keyCases() []fixture.Case {
	return []fixture.Case{
		{Number: 47, Name: "a copy is encrypted with the key of its region", Run: copyWithKey},
		{Number: 48, Name: "a copy with a wrong key fails, and the message names the field", Run: copyWithWrongKey},
	}
}

// keyed requests a copy in the second region of a snapshot of an encrypted volume, with a key of the account. Where
// snapshots have no region it is the snapshot itself.
func keyed(f *fixture.Fixture, key string) (cloud.Session, cloud.Snapshot, error) {
	f.Helper()
	volume := f.Volume("data")
	f.Store.EditVolume(volume.Handle, func(v *fake.Volume) { v.Encrypted, v.KMSKey = true, f.Keys.Disk })
	here, there := f.Session(fixture.Options{Key: key}), f.Session(fixture.Options{Region: 1, Key: key})
	if csi.CapabilitiesOf(f.Provider).Copy == csi.CopyByLocation {
		spec := f.Spec(volume, "0")
		spec.Locations = f.Regions[1:]
		made, err := here.Snapshots.EnsureSnapshot(f.Context(), spec)
		return there, made, err
	}
	source := f.Ready(here, volume)
	made, err := there.Snapshots.EnsureCopy(f.Context(), cloud.CopySpec{
		Name: cloud.Name(source.Ref.ID), Source: source.Ref, Tags: f.Spec(volume, "0").Tags, MaySend: true,
	})
	return there, made, err
}

func copyWithKey(f *fixture.Fixture) {
	for _, key := range []string{f.Keys.Copy, ""} {
		f := f.Again()
		session, made, err := keyed(f, key)
		if err != nil {
			f.Fatalf("copying with the key %q: %v", key, err)
		}
		f.Clock.Step(time.Hour)
		if got := f.Get(session, made.Ref); got.State != cloud.StateReady || !got.Encrypted {
			f.Errorf("copy with the key %q: state %q (%s), encrypted: %t", key, got.State, got.Message, got.Encrypted)
		}
		for _, s := range f.Store.Snapshots() {
			if s.ID == made.Ref.ID && key != "" && s.KMSKey != key {
				f.Errorf("the copy has the key %q, want %q", s.KMSKey, key)
			}
		}
	}
}

// copyWithWrongKey accepts both ways of a provider: to refuse the request, or to accept it and fail the copy.
func copyWithWrongKey(f *fixture.Fixture) {
	for reason, key := range f.Keys.Wrong {
		f := f.Again()
		session, made, err := keyed(f, key)
		message := ""
		if refused, ok := errors.AsType[*cloud.Error](err); ok {
			f.WantClass(err, cloud.ClassInvalid)
			message = refused.Message
		} else {
			f.Clock.Step(time.Hour)
			got := f.Get(session, made.Ref)
			if got.State != cloud.StateFailed {
				f.Errorf("%s: state %q, want %q", reason, got.State, cloud.StateFailed)
			}
			message = got.Message
		}
		if field := fmt.Sprintf("spec.%s.keys.%s of the CloudAccount must be ", f.Provider, f.Regions[1]); !strings.Contains(message, field) {
			f.Errorf("%s: message %q, want one with %q", reason, message, field)
		}
	}
}
