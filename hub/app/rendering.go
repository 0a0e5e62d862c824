package app

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// planRendering adds which version of pod templates each cluster may have to the input of the status. While the
// application is paused, its clusters keep what they have.
func (in *observation) planRendering(app *v1.EcommerceApp) {
	if in.Paused || in.SafeMode || in.Deleting || len(in.Undecided) > 0 {
		return
	}
	request := rollout.RenderingRequest{Version: render.Version, Now: in.Now, AllAtOnce: app.Annotations[v1.RenderNowAnnotation]}
	if app.Spec.Rollout != nil {
		request.Order = app.Spec.Rollout.Order
		request.Waits = app.Annotations[v1.RolloutPausedAnnotation] == "true" || in.Rollout != nil && in.Rollout.State != v1.RolloutComplete
	}
	for i := range in.Clusters {
		if !slices.Contains(in.Chosen, in.Clusters[i].Name) {
			continue // The application leaves it.
		}
		request.Clusters = append(request.Clusters, renderingOf(in.Previous.EntryOf(in.Clusters[i].Name), &in.Clusters[i]))
	}
	in.Renderings = map[string]aggregate.Rendering{}
	for name, next := range rollout.NextRendering(request) {
		in.Renderings[name] = aggregate.Rendering(next)
	}
}

// renderingOf returns what is known of the pod templates in a cluster. What the status has lost is read in the copy.
func renderingOf(entry *v1.ClusterStatus, c *aggregate.Cluster) rollout.RenderingCluster {
	out := rollout.RenderingCluster{
		Name: c.Name, Region: c.Region, Copied: c.Copy != nil,
		Reachable: c.Connection == aggregate.Connected && !c.Paused,
	}
	if entry != nil {
		out.Has = rollout.Rendering{Version: entry.RenderingVersion, Start: entry.RenderingStartTime}
		out.Copied = out.Copied || entry.AppliedGeneration > 0
	}
	if c.Copy == nil {
		return out
	}
	out.Has.Version = cmp.Or(out.Has.Version, c.Copy.Rendering)
	out.Renders, out.Held = c.Copy.Status.RenderingVersion, len(c.Copy.Status.HeldTemplates) > 0
	ready := meta.FindStatusCondition(c.Copy.Status.Conditions, v1.ConditionReady)
	out.Ready = ready != nil && ready.Status == "True" && ready.ObservedGeneration == c.Copy.Generation && c.Copy.Rendering == out.Has.Version
	return out
}
