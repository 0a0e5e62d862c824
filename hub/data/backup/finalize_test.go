package backup

import (
	"context"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// refusingCloud answers deletions by region, and counts them.
type refusingCloud struct {
	cloud.Snapshots

	answer error
	asked  *[]string
}

func (c refusingCloud) DeleteSnapshot(_ context.Context, ref cloud.SnapshotRef, _ cloud.Owner) error {
	*c.asked = append(*c.asked, ref.ID)
	return c.answer
}

// TestDeletion checks that one snapshot that is not deleted delays the others neither now nor later, and that what the
// cloud does not have any more is not asked for.
func TestDeletion(t *testing.T) {
	t.Parallel()
	locked, down := &cloud.Error{Class: cloud.ClassLocked}, &cloud.Error{Class: cloud.ClassTransient}
	const lock = "deleting the snapshot in us-1: a lock or a retention policy of the provider keeps it; it is deleted when that has ended"
	for name, tt := range map[string]struct {
		original, copied error
		change           func(*v1.VolumeSnapshot)
		want             steps.Result
		asked            []string
	}{
		"all go":                            {asked: []string{"snap-us-1", "snap-eu-1"}},
		"one is locked":                     {copied: locked, want: steps.RetryAfter(steps.Locked, v1.ReasonInUse, lock), asked: []string{"snap-us-1", "snap-eu-1"}},
		"the other is soon":                 {copied: locked, original: down, want: steps.RetryAfter(steps.Transient, v1.ReasonInUse, lock), asked: []string{"snap-us-1", "snap-eu-1"}},
		"missing, in a region that is away": {original: down, change: func(s *v1.VolumeSnapshot) { s.State = v1.SnapshotMissing }, asked: []string{"snap-us-1"}},
		"all is missing": {original: down, copied: down, change: func(s *v1.VolumeSnapshot) {
			s.State, s.Copies[0].State = v1.SnapshotMissing, v1.SnapshotMissing
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(nil, nil)
			var asked []string
			w.options.Accounts = accounts.New(accounts.Options{Registry: cloud.Registry{v1.ProviderAWS: func(_ context.Context, config cloud.Config) (cloud.Session, error) {
				answer := map[string]error{"eu-1": tt.original, "us-1": tt.copied}[config.Region]
				return cloud.Session{Snapshots: refusingCloud{answer: answer, asked: &asked}}, nil
			}}})
			w.options.Accounts.Set("prod", v1.CloudAccountSpec{Provider: v1.ProviderAWS}, nil)
			ready := string(cloud.StateReady)
			snapshot := v1.VolumeSnapshot{
				Claim: "data", CloudSnapshot: v1.CloudSnapshot{Region: "eu-1", ID: "snap-eu-1", State: ready, Requests: 1},
				Copies: []v1.CloudSnapshot{{Region: "us-1", ID: "snap-us-1", State: ready, Requests: 1}},
			}
			if tt.change != nil {
				tt.change(&snapshot)
			}
			w.backup.Status.Account, w.backup.Status.Snapshots = "prod", []v1.VolumeSnapshot{snapshot}
			if diff := gocmp.Diff(tt.want, w.deleteAll(t.Context())); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(tt.asked, asked); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
		})
	}
}
