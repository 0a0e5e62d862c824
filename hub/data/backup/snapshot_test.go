package backup

import (
	"context"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
)

// slowSnapshots answers in the same way for ever.
type slowSnapshots struct {
	cloud.Snapshots

	state cloud.State
	err   error
}

func (s slowSnapshots) EnsureSnapshot(context.Context, cloud.SnapshotSpec) (cloud.Snapshot, error) {
	if s.err != nil {
		return cloud.Snapshot{}, s.err
	}
	return cloud.Snapshot{Ref: cloud.SnapshotRef{Region: "eu-1", ID: "snap-1"}, State: s.state}, nil
}

// TestHowLongASnapshotMayTake checks that a Backup fails whose snapshot the provider does not take, or does not finish: for as
// long as it waits, no other one is begun.
func TestHowLongASnapshotMayTake(t *testing.T) {
	t.Parallel()
	denied := &cloud.Error{Class: cloud.ClassDenied, Code: "UnauthorizedOperation"}
	for name, tt := range map[string]struct {
		answer slowSnapshots
		region string
		after  time.Duration
		want   string
		fatal  bool
	}{
		"denied":                   {slowSnapshots{err: denied}, "eu-1", snapshotTimeout, v1.ReasonCloudRefused, false},
		"denied for too long":      {slowSnapshots{err: denied}, "eu-1", snapshotTimeout + time.Second, v1.ReasonSnapshotStuck, true},
		"not connected":            {slowSnapshots{}, "away", snapshotTimeout, v1.ReasonCloudUnavailable, false},
		"never connected":          {slowSnapshots{}, "away", snapshotTimeout + time.Second, v1.ReasonSnapshotStuck, true},
		"not taken":                {slowSnapshots{state: cloud.StateCreating}, "eu-1", snapshotTimeout, v1.ReasonCreatingSnapshots, false},
		"never taken":              {slowSnapshots{state: cloud.StateCreating}, "eu-1", snapshotTimeout + time.Second, v1.ReasonSnapshotStuck, true},
		"taken":                    {slowSnapshots{state: cloud.StateTaken}, "eu-1", readyTimeout, v1.ReasonUploading, false},
		"taken, and never to read": {slowSnapshots{state: cloud.StateTaken}, "eu-1", readyTimeout + time.Second, v1.ReasonSnapshotStuck, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(emptyHub{}, nil)
			w.options.Accounts = accounts.New(accounts.Options{Registry: cloud.Registry{v1.ProviderAWS: func(_ context.Context, c cloud.Config) (cloud.Session, error) {
				if c.Region == "away" {
					return cloud.Session{}, &cloud.Error{Class: cloud.ClassTransient}
				}
				return cloud.Session{Snapshots: tt.answer}, nil
			}}})
			w.options.Accounts.Set("prod", v1.CloudAccountSpec{Provider: v1.ProviderAWS}, nil)
			w.backup.Spec.Method = v1.BackupSnapshot
			s := &w.backup.Status
			s.Account, s.Region, s.Provider, s.Dump, s.SnapshotTime = "prod", tt.region, v1.ProviderAWS, nil, nil
			s.Snapshots = []v1.VolumeSnapshot{{Claim: "c", CloudSnapshot: v1.CloudSnapshot{Region: "eu-1", ID: "snap-1", State: string(cloud.StateCreating), Requests: 1}}}
			w.now = now().Add(tt.after)
			if result, err := w.takeSnapshots(t.Context()); err != nil || result.Reason != tt.want || result.Fatal != tt.fatal {
				t.Errorf("%+v, %v; want the reason %s, fatal: %t", result, err, tt.want, tt.fatal)
			}
		})
	}
}
