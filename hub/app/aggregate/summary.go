package aggregate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// maxNamed bounds the number of clusters that a message names.
const maxNamed = 3

// summary holds the facts that the phase, the message and the conditions are computed
// from.
type summary struct {
	in          Input
	initialized bool

	// placed are the clusters that the application should run on, left those where it is
	// to be deleted.
	placed, left []v1.ClusterStatus
	// total counts the placed clusters or, when the application is being deleted, those
	// that are left. Regions and replicas refer to the same clusters. Replicas is the
	// largest number in one of them: like spec.frontend.replicas, /scale is about each
	// cluster.
	total, regions, replicas int32
	// ready counts the placed clusters that are ready, applied those that have reconciled
	// the current generation.
	ready, applied int32

	// failed, lost and waiting are the clusters that are not ready, by cause.
	failed, lost, waiting []v1.ClusterStatus
	// paused are those in which nothing is written, ready or not.
	paused []v1.ClusterStatus
	// impaired are the others that have a problem, ready or not.
	impaired []v1.ClusterStatus
}

func summarize(in Input, clusters []v1.ClusterStatus) summary {
	s := summary{in: in, initialized: meta.IsStatusConditionTrue(in.Previous.Conditions, v1.ConditionInitialized)}
	regions := map[string]bool{}
	for _, c := range clusters {
		if c.Phase == v1.PhaseDeleting {
			s.left = append(s.left, c)
		} else {
			s.placed = append(s.placed, c)
			s.countPlaced(c)
		}
		if in.Deleting == (c.Phase == v1.PhaseDeleting) {
			s.total++
			if in.Shares == nil {
				s.replicas = max(s.replicas, c.Replicas)
			} else {
				s.replicas += c.Replicas
			}
			if r := regionOf(c); !regions[r] {
				regions[r] = true
				s.regions++
			}
		}
		s.sort(c)
	}
	s.initialized = s.initialized || s.running()
	return s
}

// sort adds a cluster to those of its kind.
func (s *summary) sort(c v1.ClusterStatus) {
	if c.DegradedReason != "" && !c.Stale && c.Phase != v1.PhaseFailed && c.Phase != v1.PhaseDeleting {
		s.impaired = append(s.impaired, impairment(c))
	}
	switch {
	case c.Stale:
		s.lost = append(s.lost, c)
	case c.Phase == v1.PhaseFailed, c.Phase == v1.PhaseDeleting && (c.Stalled || (&Failure{Reason: c.Reason}).NeedsIntervention()):
		s.failed = append(s.failed, c)
	case c.Phase == v1.PhasePaused, c.Reason == v1.ReasonPaused:
		s.paused = append(s.paused, c)
	case !c.Ready:
		s.waiting = append(s.waiting, c)
	}
}

// impairment returns an entry with the reason for which it is degraded, and without the message of another one.
func impairment(c v1.ClusterStatus) v1.ClusterStatus {
	if c.Reason != c.DegradedReason {
		c.Reason, c.Message = c.DegradedReason, ""
	}
	return c
}

func (s *summary) countPlaced(c v1.ClusterStatus) {
	if c.Ready {
		s.ready++
	}
	if c.AppliedGeneration == s.in.Generation && (s.in.Rollout == nil || c.Revision == s.in.Rollout.Revision) {
		s.applied++
	}
}

// running reports whether all placed clusters are ready, and have the spec.
func (s summary) running() bool {
	return !s.in.Deleting && s.in.Invalid == "" && s.total > 0 && s.ready == s.total && !s.rollingOut() && !s.revisionWaits()
}

func (s summary) phase() v1.Phase {
	switch {
	case s.in.Deleting:
		return v1.PhaseDeleting
	case s.in.Invalid != "", s.in.Unrevised != nil && s.in.Unrevised.Blocking:
		return v1.PhaseFailed
	case s.total == 0:
		return v1.PhasePending
	case s.in.Paused:
		return v1.PhasePaused
	case s.running():
		return v1.PhaseRunning
	}
	if s.rolledBack() || s.rolloutFailed() {
		return v1.PhaseFailed
	}
	var phase v1.Phase
	scaling := !s.rollingOut() && s.in.Unrevised == nil
	for _, c := range s.placed {
		phase = worst(phase, c.Phase)
		scaling = scaling && (c.Ready || c.Phase == v1.PhaseScaling)
	}
	switch {
	case phase == v1.PhaseFailed, phase == v1.PhaseUnknown, phase == v1.PhasePaused:
		return phase
	case !s.initialized:
		return v1.PhaseCreating
	case scaling:
		return v1.PhaseScaling
	default:
		return v1.PhaseUpdating
	}
}

// pausedBy returns what holds changes of the application back: its own pause, or that of members.
func (s summary) pausedBy() string {
	if s.in.Paused {
		return pausedBy(s.in, "")
	}
	return pausedBy(s.in, names(s.paused))
}

// reason returns the reason of the condition Ready.
func (s summary) reason() string {
	switch s.phase() {
	case v1.PhaseRunning:
		return v1.ReasonRunning
	case v1.PhasePaused:
		if s.running() {
			return v1.ReasonRunning
		}
		return v1.ReasonPaused
	case v1.PhaseDeleting:
		if len(s.lost) > 0 {
			return v1.ReasonClusterUnreachable
		}
		if len(s.paused) > 0 {
			return v1.ReasonPaused
		}
		return v1.ReasonDeleting
	case v1.PhasePending:
		if s.in.Unrevised != nil {
			return s.rolloutReason()
		}
		return s.unplacedReason()
	case v1.PhaseFailed:
		if s.in.Invalid != "" {
			return v1.ReasonInvalidSpec
		}
		if s.revisionWaits() || len(s.failed) == 0 {
			return s.rolloutReason()
		}
		return s.failed[0].Reason
	case v1.PhaseUnknown:
		return v1.ReasonClusterUnreachable
	default:
		if s.in.Unrevised != nil {
			return s.rolloutReason()
		}
		return v1.ReasonWaitingForClusters
	}
}

func (s summary) message() string {
	switch phase := s.phase(); {
	case phase == v1.PhaseRunning:
		return MessageRunning
	case s.in.Paused && phase == v1.PhasePaused:
		return fmt.Sprintf("changes are held back by %s; %d of %s ready", s.pausedBy(), s.ready, areClusters(s.total))
	case s.in.Invalid != "":
		return s.in.Invalid
	case s.in.Unrevised != nil && s.total == 0 && !s.in.Deleting:
		return s.rolloutMessage()
	case phase == v1.PhasePending:
		return s.unplacedMessage()
	case phase == v1.PhaseDeleting && len(s.left) == 0:
		return "the application is deleted in all clusters"
	case phase == v1.PhaseDeleting:
		return s.leftMessage()
	}
	message := fmt.Sprintf("%d of %s ready", s.ready, areClusters(s.total))
	if s.rollingOut() || s.revisionWaits() {
		message += "; " + s.rolloutMessage()
	}
	if problems := describe(slices.Concat(s.failed, s.lost)); problems != "" {
		message += "; " + problems
	}
	return message
}

func (s summary) leftMessage() string {
	if problems := describe(slices.Concat(s.failed, s.lost, s.paused)); problems != "" {
		return "waiting for the application to be deleted; " + problems
	}
	return "waiting for the application to be deleted in " + names(s.left)
}

// unplacedReason returns the reason why no cluster is chosen.
func (s summary) unplacedReason() string {
	notReady := slices.ContainsFunc(s.in.Rejected, func(r v1.RejectedClusters) bool {
		return slices.Contains([]string{v1.ReasonClusterNotReady, v1.ReasonPaused, v1.ReasonCordoned, v1.ReasonDrained, v1.ReasonTaintNotTolerated}, r.Reason)
	})
	if notReady || len(s.in.Rejected) == 0 {
		return v1.ReasonNoReadyCluster
	}
	return v1.ReasonNoMatchingCluster
}

func (s summary) unplacedMessage() string {
	switch {
	case len(s.in.Rejected) == 0:
		return "no cluster is registered"
	case s.unplacedReason() == v1.ReasonNoReadyCluster:
		return "no cluster that matches the placement is ready"
	default:
		return fmt.Sprintf("no cluster matches the placement: correct spec.placement, and see kubectl shopfleet why %s -n %s", s.in.Key.Name, s.in.Key.Namespace)
	}
}

// describe lists clusters with their reasons and messages, at most maxNamed.
func describe(clusters []v1.ClusterStatus) string {
	var parts []string
	for i, c := range clusters {
		if i == maxNamed {
			parts = append(parts, fmt.Sprintf("and %d more", len(clusters)-maxNamed))
			break
		}
		part := c.Name + ": " + c.Reason
		if c.Message != "" {
			part += ": " + c.Message
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func names(clusters []v1.ClusterStatus) string {
	all := make([]string, 0, len(clusters))
	for _, c := range clusters {
		all = append(all, c.Name)
	}
	return v1.FirstOf(all)
}

func areClusters(n int32) string {
	if n == 1 {
		return "1 cluster is"
	}
	return fmt.Sprintf("%d clusters are", n)
}
