package placement

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// criteria is a placement. It is evaluated without an allocation, because one event of a cluster
// has it evaluated for each application.
type criteria struct {
	*v1.Placement
	// names is the set of ClusterNames; nil if few clusters are compared with them.
	names map[string]bool
	// now decides whether a toleration has ended. It does not matter to a cluster that does not
	// run the application.
	now time.Time
}

// check returns an error if the placement cannot be decided.
func (c criteria) check() error {
	if err := checkCriteria(&c.ClusterCriteria); err != nil {
		return fmt.Errorf("placement: %w", err)
	}
	for i := range c.Preferences {
		if err := checkCriteria(&c.Preferences[i].Selector); err != nil {
			return fmt.Errorf("placement.preferences[%d].selector: %w", i, err)
		}
	}
	for i := range c.Replicas.Weights {
		if err := checkCriteria(&c.Replicas.Weights[i].Selector); err != nil {
			return fmt.Errorf("placement.replicas.weights[%d].selector: %w", i, err)
		}
	}
	return nil
}

// checkCriteria returns an error if no API server would accept the selector as one of labels.
func checkCriteria(by *v1.ClusterCriteria) error {
	if by.ClusterSelector == nil {
		return nil
	}
	if _, err := metav1.LabelSelectorAsSelector(labelSelector(by.ClusterSelector)); err != nil {
		return fmt.Errorf("parsing clusterSelector: %w", err)
	}
	return nil
}

// labelSelector returns a selector as one of Kubernetes.
func labelSelector(s *v1.ClusterLabelSelector) *metav1.LabelSelector {
	out := &metav1.LabelSelector{MatchLabels: s.MatchLabels}
	for _, r := range s.MatchExpressions {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement(r))
	}
	return out
}

// mismatch returns which of the criteria a cluster does not meet, or an empty string if it meets all.
// Names is the set of their ClusterNames; nil if few clusters are compared with them.
func mismatch(by *v1.ClusterCriteria, names map[string]bool, cluster *Cluster) string {
	switch {
	case len(by.ClusterNames) > 0 && !names[cluster.Name] && (names != nil || !slices.Contains(by.ClusterNames, cluster.Name)):
		return v1.ReasonNameNotListed
	case !selects(by.ClusterSelector, cluster):
		return v1.ReasonNotSelected
	case len(by.Regions) > 0 && !slices.Contains(by.Regions, cluster.Region):
		return v1.ReasonRegionNotListed
	case len(by.Providers) > 0 && !slices.Contains(by.Providers, cluster.Provider):
		return v1.ReasonProviderNotListed
	default:
		return ""
	}
}

// reject returns why a cluster does not match, or an empty string if it does. The
// first row that applies decides:
//
//	left the fleet                             ClusterDetached
//	clusterNames does not list it              NameNotListed
//	selector does not match                    NotSelected
//	regions does not list its region           RegionNotListed
//	providers does not list its provider       ProviderNotListed
//	drained                                    Drained
//	a taint that is not tolerated; one with
//	the effect NoExecute if it is placed       TaintNotTolerated
//	cordoned, and not placed yet               Cordoned
//	not ready, and not placed yet              ClusterNotReady
//	paused, and not placed yet                 Paused
func (c criteria) reject(cluster *Cluster, placed bool) string {
	if cluster.Detached {
		return v1.ReasonClusterDetached
	}
	if reason := mismatch(&c.ClusterCriteria, c.names, cluster); reason != "" {
		return reason
	}
	switch {
	case cluster.Scheduling == v1.SchedulingDrained:
		return v1.ReasonDrained
	case c.repels(cluster, placed):
		return v1.ReasonTaintNotTolerated
	case placed:
		return ""
	case cluster.Scheduling == v1.SchedulingCordoned:
		return v1.ReasonCordoned
	case !cluster.Ready:
		return v1.ReasonClusterNotReady
	case cluster.Paused:
		return v1.ReasonPaused
	default:
		return ""
	}
}

// evicts reports whether a reason is about the cluster alone: the placement of the application
// matches it.
func evicts(reason string) bool {
	return reason == v1.ReasonDrained || reason == v1.ReasonTaintNotTolerated
}

// repels reports whether a taint of a cluster keeps the application out, or makes it leave. A toleration
// with seconds does not let it in: it would leave again.
func (c criteria) repels(cluster *Cluster, placed bool) bool {
	for i := range cluster.Taints {
		t := &cluster.Taints[i]
		if placed && t.Effect != v1.TaintNoExecute {
			continue
		}
		until, tolerated := c.tolerates(t)
		if !tolerated || !until.IsZero() && (!placed || !c.now.Before(until)) {
			return true
		}
	}
	return false
}

// maxToleration is the longest time that a toleration with seconds lasts: a longer one would not fit into
// a time.Duration.
const maxToleration = 100 * 365 * 24 * time.Hour

// tolerates reports whether the application tolerates a taint, and until when; the zero time is
// for ever. The shortest toleration counts, as for pods.
func (c criteria) tolerates(t *Taint) (until time.Time, tolerated bool) {
	for i := range c.Tolerations {
		toleration := &c.Tolerations[i]
		switch {
		case toleration.Effect != "" && string(toleration.Effect) != string(t.Effect),
			toleration.Key != "" && toleration.Key != t.Key,
			toleration.Operator != v1.TolerationExists && toleration.Value != t.Value:
			continue
		case toleration.TolerationSeconds == nil:
			tolerated = true
			continue
		}
		seconds := min(max(0, *toleration.TolerationSeconds), int64(maxToleration/time.Second))
		end := t.AddedTime.Add(time.Duration(seconds) * time.Second)
		if until.IsZero() || end.Before(until) {
			until, tolerated = end, true
		}
	}
	return until, tolerated
}

// toleratedUntil returns when a cluster that runs the application begins to repel it; zero if it
// does not, as far as is known now.
func (c criteria) toleratedUntil(cluster *Cluster) time.Time {
	var first time.Time
	for i := range cluster.Taints {
		t := &cluster.Taints[i]
		if t.Effect != v1.TaintNoExecute {
			continue
		}
		if until, ok := c.tolerates(t); ok && c.now.Before(until) && (first.IsZero() || until.Before(first)) {
			first = until
		}
	}
	return first
}

// weightOf returns the sum of the weights that select a cluster.
func weightOf(cluster *Cluster, weights []v1.WeightedClusters) int32 {
	var sum int32
	for i := range weights {
		if mismatch(&weights[i].Selector, nil, cluster) == "" {
			sum += weights[i].Weight
		}
	}
	return sum
}

// selects reports whether a selector matches the labels of a cluster, as the selector that
// LabelSelectorAsSelector returns does. One that is not valid matches none, or ignores what is wrong.
func selects(selector *v1.ClusterLabelSelector, cluster *Cluster) bool {
	if selector == nil {
		return true
	}
	if !hasLabels(cluster, selector.MatchLabels) {
		return false
	}
	for i := range selector.MatchExpressions {
		r := &selector.MatchExpressions[i]
		value, has := labelOf(cluster, r.Key)
		matches := false
		switch r.Operator {
		case metav1.LabelSelectorOpIn:
			matches = has && slices.Contains(r.Values, value)
		case metav1.LabelSelectorOpNotIn:
			matches = !has || !slices.Contains(r.Values, value)
		case metav1.LabelSelectorOpExists:
			matches = has
		case metav1.LabelSelectorOpDoesNotExist:
			matches = !has
		}
		if !matches {
			return false
		}
	}
	return true
}

// hasLabels reports whether a cluster has labels.
func hasLabels(cluster *Cluster, labels map[string]string) bool {
	for key, want := range labels {
		if value, has := labelOf(cluster, key); !has || value != want {
			return false
		}
	}
	return true
}

// labelOf returns a label of a cluster as selectors see it, and whether there is one.
func labelOf(c *Cluster, key string) (value string, has bool) {
	switch {
	case key == corev1.LabelTopologyRegion && c.Region != "":
		return c.Region, true
	case key == v1.ProviderLabel && c.Provider != "":
		return string(c.Provider), true
	}
	value, has = c.Labels[key]
	return value, has
}
