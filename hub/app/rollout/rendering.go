package rollout

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rendering is a version of pod templates that a cluster may have, and since when others wait until it is ready with
// it; nil if none does.
type Rendering struct {
	Version string
	Start   *metav1.Time
}

// RenderingCluster represents what was observed of the pod templates of an application in one cluster.
type RenderingCluster struct {
	Name, Region string
	// Has is the last decision.
	Has Rendering
	// Copied is true if the cluster has a copy.
	Copied bool
	// Renders is the version that the process renders which reconciles the copy; empty while it is not known.
	Renders string
	// Reachable is false while the cluster is not connected, or paused.
	Reachable bool
	// Ready is true if the copy is ready, and Held if it has pods of an earlier version.
	Ready, Held bool
}

// settled reports whether a cluster has the version that it may have, in all its pods.
func (c RenderingCluster) settled() bool {
	return c.Has.Version == c.Renders && c.Ready && !c.Held
}

// RenderingRequest is the input of NextRendering.
type RenderingRequest struct {
	// Clusters are those of the application that it does not leave.
	Clusters []RenderingCluster
	// Version is the one that a new copy gets.
	Version string
	// Order are the regions that come first.
	Order []string
	// Now is the time of the decision, and AllAtOnce the version for which no cluster waits; usually empty.
	Now       metav1.Time
	AllAtOnce string
	// Waits is true while no cluster may begin: a revision is being rolled out, or the rollout is paused.
	Waits bool
}

// NextRendering returns the version of pod templates that each cluster may have. A version that a process renders goes to
// one cluster after the other, each when the one before is ready with it. Clusters that are not ready wait for those that
// are, and nothing waits for them: their pods are not worse off. One that does not respond neither gets it nor delays
// others.
func NextRendering(r RenderingRequest) map[string]Rendering {
	next, busy := make(map[string]Rendering, len(r.Clusters)), false
	var ready, unready []RenderingCluster
	for _, c := range r.Clusters {
		switch {
		case !c.Copied && c.Has.Version == "":
			c.Has.Version = r.Version
		case c.Has.Start != nil && c.settled():
			c.Has.Start = nil
		}
		next[c.Name] = c.Has
		busy = busy || c.Reachable && c.Has.Start != nil
		switch waits := c.Copied && c.Reachable && c.Renders != "" && c.Has.Version != c.Renders; {
		case !waits:
		case r.AllAtOnce == c.Renders:
			next[c.Name] = Rendering{Version: c.Renders}
		case c.Ready:
			ready = append(ready, c)
		default:
			unready = append(unready, c)
		}
	}
	switch {
	case busy || r.Waits:
	case len(ready) > 0:
		first := slices.MinFunc(ready, r.compare)
		next[first.Name] = Rendering{Version: first.Renders, Start: &r.Now}
	default:
		for _, c := range unready {
			next[c.Name] = Rendering{Version: c.Renders}
		}
	}
	return next
}

// compare orders clusters: by the order of regions, then by region and name.
func (r RenderingRequest) compare(a, b RenderingCluster) int {
	position := func(region string) int {
		if i := slices.Index(r.Order, region); i >= 0 {
			return i
		}
		return len(r.Order)
	}
	return cmp.Or(position(a.Region)-position(b.Region), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
}
