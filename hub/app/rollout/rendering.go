package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// renderingSettles is how long a hub that has just begun to observe a cluster waits for its copy to name the version
// that is rendered there: the order of the clusters is not known before.
const renderingSettles = time.Minute

// unversioned stands for the version of a copy that has none: it was written by an earlier release.
const unversioned = -1

// RenderingCluster represents what was observed of the pod templates of an application in one cluster.
type RenderingCluster struct {
	// Cluster holds what a rollout observes. Its numbers of revisions are replaced by versions.
	Cluster
	// Version is the version that the cluster may have, as decided last; empty if none was.
	Version string
	// Renders is the version that the process renders which reconciles the copy; empty while it is not known.
	Renders string
	// Named is true if the copy names the version that the cluster may have.
	Named bool
	// Held is true while it has pods of another version than is rendered.
	Held bool
	// HasCopy is false while the cluster has no copy, and no pods.
	HasCopy bool
}

// RenderingRequest is the input of NextRendering, which does not change it.
type RenderingRequest struct {
	// Spec is the spec's rollout, or nil: then one cluster follows the other.
	Spec *v1.Rollout
	// Version is the one that this hub renders, in digits.
	Version string
	// Last is the state that is stored, or nil.
	Last *v1.RolloutStatus
	// Clusters lists the clusters that are to run the application, in any order.
	Clusters []RenderingCluster
	// Paused is true while the user pauses the rollout, and Revision is the one that is being rolled out, or 0: no
	// cluster begins meanwhile.
	Paused   bool
	Revision int64
	// Approved is the region that the user approved for the version, or empty.
	Approved string
	// AtOnce is the version for which no cluster waits, or empty.
	AtOnce string
	// Now is in whole seconds.
	Now time.Time
}

// RenderingDecision says which versions of pod templates the clusters may have.
type RenderingDecision struct {
	// Status is the state of the rollout, with the version as its revision; nil if there is nothing to roll out.
	Status *v1.RolloutStatus
	// Versions are the versions by cluster.
	Versions map[string]string
	// Until is when the decision is due again without any event; zero if it is not.
	Until time.Time
}

// NextRendering decides which clusters may replace pods of an earlier version of the pod templates, as Next does for a
// revision. A failure stops the next clusters, and there is no way back: the earlier templates are not rendered any more.
// Clusters in which no pod would be replaced get the version when the others have it. The error is about the windows in
// the spec.
func NextRendering(r RenderingRequest) (RenderingDecision, error) {
	d := RenderingDecision{Versions: make(map[string]string, len(r.Clusters)), Until: r.knownAt()}
	for _, c := range r.Clusters {
		d.Versions[c.Name] = c.Version
	}
	if r.AtOnce == r.Version {
		d.Status = r.skip(d.Versions)
		r.follow(d.Versions)
		if d.Until.IsZero() {
			r.nameOthers(&d)
		}
		return d, nil
	}
	if !d.Until.IsZero() || slices.ContainsFunc(r.Clusters, RenderingCluster.isAwaited) {
		if d.Status = r.Last.DeepCopy(); r.Last == nil {
			r.follow(d.Versions)
		}
		return d, nil
	}
	request := r.request()
	waits := slices.ContainsFunc(r.Clusters, r.waits)
	if request.Last != nil || waits {
		next, err := Next(request)
		if err != nil {
			return RenderingDecision{}, err
		}
		d.Status, d.Until = &next.Status, next.Until
		r.explain(d.Status)
		for name, version := range next.Revisions {
			if version == request.Revision {
				d.Versions[name] = r.Version
			}
		}
	}
	if d.Status == nil || d.Status.State == v1.RolloutComplete {
		r.follow(d.Versions)
	}
	r.nameOthers(&d)
	return d, nil
}

// isAwaited reports whether it is about to be known what pods a cluster has: until then it is not known which is next.
func (c RenderingCluster) isAwaited() bool { return c.Connecting && c.HasCopy }

// knownAt returns when it is known what is rendered in all clusters; zero if it is.
func (r RenderingRequest) knownAt() time.Time {
	var until time.Time
	for _, c := range r.Clusters {
		if at := c.Since.Add(renderingSettles); c.isOther(r.Version) && r.Now.Before(at) && at.After(until) {
			until = at
		}
	}
	return until
}

// isOther reports whether another version is rendered in a cluster that responds, or an earlier release runs there.
func (c RenderingCluster) isOther(version string) bool {
	return c.HasCopy && !c.SetAside && c.Settled && c.Renders != version
}

// waits reports whether a cluster has pods that wait for the version.
func (r RenderingRequest) waits(c RenderingCluster) bool {
	return c.Held && c.Renders == r.Version && c.Version != r.Version
}

// IsReplacing reports whether a cluster that serves customers replaces pods of an earlier version, by the last state of the
// rollout of the version. It ends at the deadline, which fails the version or leaves the cluster behind. That does not come
// while data is copied, so that nothing else waits for that either.
func (c RenderingCluster) IsReplacing(last *v1.RolloutStatus) bool {
	now := progress{Cluster: c.Cluster}
	if last == nil || last.State == v1.RolloutFailed || c.SetAside || !c.Serving || c.Failure != "" || now.copies() ||
		slices.Contains(last.LeftBehind, c.Name) {
		return false
	}
	begun := slices.ContainsFunc(last.Updating, func(u v1.ClusterUpdate) bool { return u.Name == c.Name })
	return begun && (!c.Named || c.Held || now.isChanging())
}

// TemplatesSpec returns what a version of the pod templates is rolled out by: the spec's rollout, or without one a cluster
// after the other, without a soak time.
func TemplatesSpec(spec *v1.Rollout) v1.Rollout {
	if spec == nil {
		return v1.Rollout{Strategy: v1.RolloutProgressive, Soak: &metav1.Duration{}}
	}
	return *spec
}

// request returns the request of a rollout of the version. The clusters without pods to replace are no part of it: they
// prove nothing.
func (r RenderingRequest) request() Request {
	// Without a revision that was healthy before, a failure takes nothing back.
	request := Request{
		Spec: TemplatesSpec(r.Spec), Revision: versionNumber(r.Version), Last: r.Last.DeepCopy(), Paused: r.Paused || r.Revision != 0, Approved: r.Approved, Now: r.Now,
		InTurn: true,
	}
	if r.Last != nil && (r.Last.Revision != request.Revision || r.Last.State == v1.RolloutComplete && r.Last.CompletionTime == nil) {
		request.Last = nil // There is no way back to it, or it only names clusters.
	}
	for _, c := range r.Clusters {
		if c.isOther(r.Version) || c.Version != r.Version && !r.waits(c) {
			continue
		}
		next := c.Cluster
		next.Revision, next.Has, next.Waiting, next.Refused = versionNumber(c.Version), c.Named, false, ""
		next.Settled = c.Settled && c.Named && (c.Version != r.Version || !c.Held)
		request.Clusters = append(request.Clusters, next)
	}
	return request
}

// versionNumber returns a version as the number of a revision.
func versionNumber(version string) int64 {
	if number, err := strconv.ParseInt(version, 10, 64); err == nil && number > 0 {
		return number
	}
	return unversioned
}

// skip gives the version to all clusters that wait for it, and returns the state of a rollout that is complete.
func (r RenderingRequest) skip(versions map[string]string) *v1.RolloutStatus {
	now := metav1.NewTime(r.Now)
	s := &v1.RolloutStatus{Revision: versionNumber(r.Version), State: v1.RolloutComplete, CompletionTime: &now}
	if r.Last != nil && r.Last.Revision == s.Revision && r.Last.CompletionTime != nil {
		s.CompletionTime = r.Last.CompletionTime
	}
	for _, c := range r.Clusters {
		if r.waits(c) && !c.SetAside {
			versions[c.Name] = r.Version
		}
		if s.Total++; versions[c.Name] == r.Version {
			s.Updated++
		}
	}
	return s
}

// explain says for which revision the version waits.
func (r RenderingRequest) explain(s *v1.RolloutStatus) {
	if s.State == v1.RolloutPaused && !r.Paused {
		_, rest, _ := strings.Cut(s.Message, v1.RolloutPausedAnnotation)
		s.Message = fmt.Sprintf("waiting for the rollout of revision %d%s", r.Revision, rest)
	}
}

// follow gives the clusters that have no pods to replace the version that is rendered there.
func (r RenderingRequest) follow(versions map[string]string) {
	for _, c := range r.Clusters {
		switch {
		case !c.HasCopy:
			versions[c.Name] = cmp.Or(c.Version, r.Version)
		case !c.SetAside && !c.Held && c.Renders != "":
			versions[c.Name] = c.Renders
		}
	}
}

// nameOthers adds in which clusters another version is rendered, as by an agent that is not upgraded yet.
func (r RenderingRequest) nameOthers(d *RenderingDecision) {
	var others []string
	for _, c := range r.Clusters {
		if c.isOther(r.Version) {
			others = append(others, c.Name)
		}
	}
	if len(others) == 0 {
		return
	}
	if d.Status == nil {
		d.Status = &v1.RolloutStatus{Revision: versionNumber(r.Version), State: v1.RolloutComplete}
	}
	slices.Sort(others)
	const what = "with an agent that renders another version"
	message, _, _ := strings.Cut(d.Status.Message, what) // That of before stays while nothing can be decided.
	d.Status.Message = withNames(strings.TrimSuffix(message, "; "), what, others)
}
