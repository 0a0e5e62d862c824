package restore

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// canCreateVolume reports whether a volume can be created from a snapshot that the cluster can attach, before
// anything is stopped. What cannot be read is not known, and is no reason to refuse.
func (w *work) canCreateVolume(ctx context.Context, s *v1.VolumeSnapshot, live *claim) steps.Result {
	account := &v1.CloudAccount{}
	group := ""
	if err := w.client.Get(ctx, client.ObjectKey{Name: w.backup.Status.Account}, account); err == nil && account.Spec.Azure != nil {
		group = account.Spec.Azure.GroupOf(w.member.Status.Region)
	}
	facts := w.restoreFacts(s, live)
	facts.Group = group
	if live != nil && live.ref.Handle != "" {
		if session, err := w.options.Accounts.Session(ctx, w.backup.Status.Account, w.member.Status.Region); err == nil {
			if volume, err := session.Volumes.DescribeVolume(ctx, live.ref); err == nil {
				facts.Volume = &volume
			}
		}
	}
	if o := facts.Obstacle(); o.Reason != "" {
		return steps.Fail(o.Reason, "Backup %q cannot be restored to %s: %s", w.backup.Name, w.member.Name, o.Message)
	}
	return steps.Result{}
}

// restoreFacts returns what is known without the cloud.
func (w *work) restoreFacts(s *v1.VolumeSnapshot, live *claim) csi.RestoreFacts {
	facts := csi.RestoreFacts{
		Provider: w.member.Status.Provider, Region: w.member.Status.Region,
		Driver: w.targetFacts.class.driver, NodeZones: w.member.Status.Zones,
		MayAttach: w.member.Annotations[v1.AttachesVolumesAnnotation] == "true",
		Class:     w.targetFacts.class.parameters, Zone: w.restore.Spec.Zone,
	}
	switch {
	case live != nil:
		facts.Handle = live.ref.Handle
	case w.member.Name == w.backup.Spec.ClusterRef.Name:
		facts.Handle = s.Volume // The cluster had it.
	}
	return facts
}
