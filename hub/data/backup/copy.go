package backup

import (
	"context"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// makeCopies requests the missing copies and observes the others. Where snapshots
// have no region there is none to make.
func (w *work) makeCopies(ctx context.Context) (steps.Result, error) {
	if csi.CapabilitiesOf(w.backup.Status.Provider).Copy != csi.CopyByCopy {
		return steps.Result{}, nil
	}
	w.addCopies()
	var asking []*v1.CloudSnapshot
	for i := range w.backup.Status.Snapshots {
		for j := range w.backup.Status.Snapshots[i].Copies {
			c := &w.backup.Status.Snapshots[i].Copies[j]
			if c.ID == "" && c.State != string(cloud.StateFailed) && intentOf(c).MaySend(w.now) {
				asking = append(asking, c)
			}
		}
	}
	if result, err := w.mayAsk(ctx, asking); result.Stops() || err != nil {
		return result, err
	}
	if err := w.recordIntents(ctx, asking); err != nil {
		return steps.Result{}, err
	}
	waiting := steps.Result{}
	for i := range w.backup.Status.Snapshots {
		s := &w.backup.Status.Snapshots[i]
		for j := range s.Copies {
			c := &s.Copies[j]
			if result := w.advanceCopy(ctx, s, c, slices.Contains(asking, c)); result.Stops() && !waiting.Stops() {
				waiting = result
			}
		}
	}
	return waiting, nil
}

// advanceCopy brings one copy up to date. A copy that cannot be made fails alone: the snapshot
// and the other copies are as good as before. The zero Result means that nothing more is done.
func (w *work) advanceCopy(ctx context.Context, s *v1.VolumeSnapshot, c *v1.CloudSnapshot, may bool) steps.Result {
	if c.State == string(cloud.StateFailed) {
		return steps.Result{}
	}
	result := w.observeCopy(ctx, s, c, may)
	ready := c.State == string(cloud.StateReady)
	switch {
	case ready && !result.Fatal && w.age() > readyTimeout:
		return steps.Result{} // What is left to do is to delete its duplicates.
	case !ready && !result.Stops():
		result = steps.RetryAfter(steps.Poll(w.age()), v1.ReasonCopying, "the snapshots are ready; copying to other regions")
	}
	if result = w.limitToCompletion(result); result.Fatal {
		c.State, c.Message = string(cloud.StateFailed), v1.Excerpt(result.Message, steps.MaxMessage)
		return steps.Result{}
	}
	return result
}

// observeCopy brings one copy up to date.
func (w *work) observeCopy(ctx context.Context, s *v1.VolumeSnapshot, c *v1.CloudSnapshot, may bool) steps.Result {
	session, err := w.options.Accounts.Session(ctx, w.backup.Status.Account, c.Region)
	if err != nil {
		w.recordResponse(c, "", err)
		return steps.FromError(err, "connecting to the cloud in "+c.Region)
	}
	return w.observeSnapshot(ctx, session, c, func(ctx context.Context) (cloud.Snapshot, error) {
		return session.Snapshots.EnsureCopy(ctx, cloud.CopySpec{
			Name: c.Name, Source: cloud.SnapshotRef{Region: s.Region, ID: s.ID},
			Tags:    w.tags(s).With(cloud.Tags{cloud.TagCopyOf: s.ID}),
			Attempt: int(c.Attempt), MaySend: may,
		})
	})
}

// addCopies adds the copies that there should be.
func (w *work) addCopies() {
	for i := range w.backup.Status.Snapshots {
		s := &w.backup.Status.Snapshots[i]
		for _, region := range w.backup.Spec.CopyToRegions {
			there := slices.ContainsFunc(s.Copies, func(c v1.CloudSnapshot) bool { return c.Region == region })
			if !there && region != s.Region {
				s.Copies = append(s.Copies, v1.CloudSnapshot{Region: region, Name: w.nameOf(s.Claim, region)})
			}
		}
	}
}
