package app

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
)

// decideRendering adds which version of pod templates each cluster may have to the input of the status. While the
// application is paused, its clusters keep what they have.
func (r *Reconciler) decideRendering(app *v1.EcommerceApp, in *observation) {
	in.Rendering = in.Previous.Rendering.DeepCopy()
	if in.Deleting || len(in.Unanswered) > 0 {
		return
	}
	if in.Paused || in.SafeMode {
		in.Rendering = rollout.Suspend(in.Previous.Rendering, r.clustersOf(app, &in.Input))
		return
	}
	decision, err := rollout.NextRendering(r.renderingRequest(app, in))
	if err != nil {
		in.Invalid = cmp.Or(in.Invalid, err.Error())
		return
	}
	in.Rendering, in.Renderings = decision.Status, decision.Versions
	in.wake(decision.Until)
}

// wake makes the next decision due at a time, if it is not sooner.
func (o *observation) wake(at time.Time) {
	if !at.IsZero() && (o.until.IsZero() || at.Before(o.until)) {
		o.until = at
	}
}

// renderingRequest returns the request of a decision about the version of pod templates that this process renders.
func (r *Reconciler) renderingRequest(app *v1.EcommerceApp, in *observation) rollout.RenderingRequest {
	request := rollout.RenderingRequest{
		Spec: app.Spec.Rollout, Version: r.rendering, Last: in.Previous.Rendering, AtOnce: app.Annotations[v1.RenderNowAnnotation], Now: in.Now.Time,
		Paused: rollout.IsPaused(app),
	}
	if app.Spec.Rollout != nil {
		if version, region, _ := strings.Cut(app.Annotations[v1.ApproveAnnotation], "/"); version == v1.ApproveRendering+request.Version {
			request.Approved = region
		}
	}
	if s := in.Rollout; s != nil && s.State != v1.RolloutComplete && s.State != v1.RolloutRolledBack {
		request.Revision = s.Revision
	}
	request.Clusters = renderingsOf(r.clustersOf(app, &in.Input), &in.Input)
	return request
}

// renderingsOf returns what is known of the pod templates in clusters, in their order.
func renderingsOf(clusters []rollout.Cluster, in *aggregate.Input) []rollout.RenderingCluster {
	members := make(map[string]*aggregate.Cluster, len(in.Clusters))
	for i := range in.Clusters {
		members[in.Clusters[i].Name] = &in.Clusters[i]
	}
	renderings := make([]rollout.RenderingCluster, 0, len(clusters))
	for _, c := range clusters {
		renderings = append(renderings, renderingOf(c, in.Previous.EntryOf(c.Name), members[c.Name].Copy))
	}
	return renderings
}

// renderingOf returns what is known of the pod templates in a cluster. What the status has lost is read in the copy.
func renderingOf(c rollout.Cluster, entry *v1.ClusterStatus, copied *aggregate.Copy) rollout.RenderingCluster {
	out := rollout.RenderingCluster{Cluster: c, HasCopy: copied != nil}
	if entry != nil {
		out.Version = entry.RenderingVersion
		out.HasCopy = out.HasCopy || entry.AppliedGeneration > 0
	}
	if copied == nil {
		return out
	}
	out.Version = cmp.Or(out.Version, copied.Rendering)
	out.Renders, out.Held = copied.Status.RenderingVersion, len(copied.Status.HeldTemplates) > 0
	out.Named = copied.Rendering == out.Version
	return out
}

// renderingBegan reports whether a cluster of a region may have a version of the pod templates, or another version is
// rolled out: the approval does not count any more.
func renderingBegan(app *v1.EcommerceApp, version, region string) bool {
	last := app.Status.Rendering
	return last == nil || strconv.FormatInt(last.Revision, 10) != version || slices.ContainsFunc(app.Status.Clusters, func(c v1.ClusterStatus) bool {
		return cmp.Or(c.Region, aggregate.RegionUnknown) == region && c.RenderingVersion == version
	})
}
