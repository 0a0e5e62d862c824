package restore

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// volumeBench is a cloud with a snapshot, and a Restore of it.
type volumeBench struct {
	provider *fake.Cloud
	script   *faults.Script
	maker    volumeMaker
	saved    []v1.RestoredVolume
	// refuses holds the error that the hub's API server returns for a write.
	refuses error
	all     []v1.RestoredVolume
}

func newVolumeBench() *volumeBench {
	b := &volumeBench{
		provider: fake.NewCloud(clocktesting.NewFakePassiveClock(time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC))),
		script:   &faults.Script{}, all: []v1.RestoredVolume{{Claim: "data-0", Zone: "eu-1a"}},
	}
	b.provider.SetPace(fake.Pace{})
	owner := cloud.Owner{Hub: "hub-1", App: "app-1"}
	snapshot := b.provider.AddSnapshot(fake.Snapshot{ID: "snap-1", Account: "prod", Region: "eu", SizeBytes: 1 << 30, Tags: cloud.Tags{cloud.TagHub: owner.Hub, cloud.TagApp: owner.App}})
	b.maker = volumeMaker{
		connect: func(context.Context) (cloud.Session, error) {
			return fake.Connect(b.provider, b.script, fake.Options{Account: "prod", Region: "eu"}), nil
		},
		spec: func(v *v1.RestoredVolume) cloud.VolumeSpec {
			return cloud.VolumeSpec{
				Name: "eb-" + v.Claim, Zone: v.Zone, Snapshot: cloud.SnapshotRef{Region: "eu", ID: snapshot.ID}, Attempt: int(v.Attempt),
				Tags: cloud.Tags{cloud.TagHub: owner.Hub, cloud.TagApp: owner.App},
			}
		},
		save: func(context.Context) error {
			if b.refuses == nil {
				b.saved = append([]v1.RestoredVolume(nil), b.all...)
			}
			return b.refuses
		},
		owner: owner,
	}
	return b
}

func (b *volumeBench) fails(f faults.Fault) { f.Op = faults.OpCreateVolume; b.script.Add(f) }

// TestLostResponse checks that a volume whose response was lost is deleted, also by a hub that only knows the status
// that was saved before the request.
func TestLostResponse(t *testing.T) {
	t.Parallel()
	for name, whose := range map[string]func(*volumeBench) *v1.RestoredVolume{
		"by who asked":                 func(b *volumeBench) *v1.RestoredVolume { return &b.all[0] },
		"by a hub that came after one": func(b *volumeBench) *v1.RestoredVolume { return &b.saved[0] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newVolumeBench()
			b.fails(faults.Fault{Kind: faults.DropAfter})
			result := b.maker.createAll(t.Context(), b.all)
			if result.Reason != v1.ReasonRetrying || result.Fatal || len(b.provider.Volumes()) != 1 {
				t.Fatalf("%+v, and %d volumes", result, len(b.provider.Volumes()))
			}
			left := whose(b)
			if left.Volume != "" || left.State != v1.RestoredVolumeCreating {
				t.Fatalf("it is written down as %+v", left)
			}
			if err := b.maker.delete(t.Context(), left); err != nil {
				t.Fatal(err)
			}
			if n := len(b.provider.Volumes()); n != 0 || left.State != "" {
				t.Errorf("%d volumes are left, and %+v", n, left)
			}
			asked := b.script.Count(faults.OpAny)
			if err := b.maker.delete(t.Context(), left); err != nil || b.script.Count(faults.OpAny) != asked {
				t.Errorf("once more: %v, and the cloud was asked", err)
			}
		})
	}
}

// TestRefused checks that a volume whose request the cloud refused is not searched for.
func TestRefused(t *testing.T) {
	t.Parallel()
	for class, after := range map[cloud.Class]v1.RestoredVolumeState{
		cloud.ClassQuota: "", cloud.ClassDenied: "", cloud.ClassThrottled: "", cloud.ClassInvalid: "", cloud.ClassAuthExpired: "",
		cloud.ClassAmbiguous: v1.RestoredVolumeCreating,
	} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			b := newVolumeBench()
			b.fails(faults.Fault{Kind: faults.Refuse, Answer: fake.Refusal(class, faults.OpCreateVolume, 0)})
			if result := b.maker.createAll(t.Context(), b.all); !result.Stops() {
				t.Fatal("it was not refused")
			}
			if b.all[0].State != after {
				t.Errorf("the state is %q, want %q", b.all[0].State, after)
			}
			// After a lost response, a refusal does not show what the first request did.
			b.all[0].State = v1.RestoredVolumeCreating
			b.fails(faults.Fault{Kind: faults.Refuse, Answer: fake.Refusal(class, faults.OpCreateVolume, 0)})
			if b.maker.createAll(t.Context(), b.all); b.all[0].State != v1.RestoredVolumeCreating {
				t.Errorf("after a lost response the state is %q", b.all[0].State)
			}
		})
	}
}

// TestWrittenDownFirst checks that nothing is requested before it is stored in the status.
func TestWrittenDownFirst(t *testing.T) {
	t.Parallel()
	b := newVolumeBench()
	b.refuses = errors.New("conflict")
	if result := b.maker.createAll(t.Context(), b.all); result.Reason != v1.ReasonRetrying || b.script.Count(faults.OpCreateVolume) != 0 || b.all[0].State != "" {
		t.Errorf("%+v, %+v, and %d requests", result, b.all[0], b.script.Count(faults.OpCreateVolume))
	}
	b.refuses = nil
	if result := b.maker.createAll(t.Context(), b.all); result.Stops() || !volumeReady(&b.all[0]) || b.saved[0].State != v1.RestoredVolumeCreating {
		t.Errorf("%+v, %+v; saved was %+v", result, b.all[0], b.saved)
	}
}

// TestDeleteWhatIsNotThere checks that a volume that cannot be created counts as deleted, and one of a provider that
// does not respond does not.
func TestDeleteWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for class, gone := range map[cloud.Class]bool{
		cloud.ClassNotFound: true, cloud.ClassQuota: true, cloud.ClassInvalid: true,
		cloud.ClassAuthExpired: false, cloud.ClassThrottled: false, cloud.ClassAmbiguous: false, cloud.ClassDenied: false,
	} {
		b := newVolumeBench()
		b.all[0].State = v1.RestoredVolumeCreating
		b.fails(faults.Fault{Kind: faults.Refuse, Answer: fake.Refusal(class, faults.OpCreateVolume, 0)})
		err := b.maker.delete(t.Context(), &b.all[0])
		if (err == nil) != gone || (b.all[0].State == "") != gone {
			t.Errorf("%s: %v, and the state is %q", class, err, b.all[0].State)
		}
	}
}

// TestFailedVolume checks that a volume that fails after it was accepted is deleted before another is requested.
func TestFailedVolume(t *testing.T) {
	t.Parallel()
	b := newVolumeBench()
	failing := &failingVolumes{}
	b.maker.connect = func(context.Context) (cloud.Session, error) { return cloud.Session{Volumes: failing}, nil }
	failing.refuses = errors.New("not now")
	if result := b.maker.createAll(t.Context(), b.all); result.Fatal || b.all[0].Volume != "vol-1" || b.all[0].Attempt != 0 {
		t.Fatalf("%+v: %+v must be deleted first", result, b.all[0])
	}
	failing.refuses = nil
	for attempt := int32(1); attempt <= maxVolumeAttempts; attempt++ {
		result := b.maker.createAll(t.Context(), b.all)
		if b.all[0].Attempt != attempt || b.all[0].Volume != "" || failing.deleted != int(attempt) || result.Fatal != (attempt == maxVolumeAttempts) {
			t.Errorf("attempt %d: %+v, %+v, %d deleted", attempt, result, b.all[0], failing.deleted)
		}
	}
}

// failingVolumes makes volumes that fail.
type failingVolumes struct {
	cloud.Volumes
	refuses error
	deleted int
}

func (f *failingVolumes) EnsureVolume(_ context.Context, spec cloud.VolumeSpec) (cloud.Volume, error) {
	return cloud.Volume{Ref: cloud.VolumeRef{Region: "eu", Zone: spec.Zone, Handle: "vol-1"}, State: cloud.StateFailed, Message: "bad luck"}, nil
}

func (f *failingVolumes) DeleteVolume(context.Context, cloud.VolumeRef, cloud.Owner) error {
	if f.refuses == nil {
		f.deleted++
	}
	return f.refuses
}
