package aggregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// fact is a condition without timestamp and generation.
type fact struct {
	kind    string
	status  bool
	reason  string
	message string
	// unknown replaces the status.
	unknown bool
}

// messageDeleting is the message of the conditions about a spec that no longer applies.
const messageDeleting = "the application is being deleted"

// setConditions sets the conditions. The transition time of a condition changes only with
// its status.
func setConditions(conditions *[]metav1.Condition, s summary) {
	facts := []fact{
		{kind: v1.ConditionReady, status: s.running(), reason: s.reason(), message: s.message()},
		s.availableFact(), s.progressingFact(), s.degradedFact(), s.stalledFact(), s.placedFact(), s.appliedFact(),
	}
	if s.in.Deleting || s.in.ProtectedDeletion {
		facts = append(facts, s.deletingFact())
	}
	for _, optional := range []func() (fact, bool){s.certificateFact, s.databaseFact} {
		if f, has := optional(); has {
			facts = append(facts, f)
		} else {
			meta.RemoveStatusCondition(conditions, f.kind)
		}
	}
	if s.initialized {
		facts = append(facts, fact{kind: v1.ConditionInitialized, status: true, reason: v1.ReasonRunning, message: "all clusters have been ready"})
	}
	for _, f := range facts {
		status := metav1.ConditionFalse
		switch {
		case f.unknown:
			status = metav1.ConditionUnknown
		case f.status:
			status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: f.kind, Status: status, Reason: f.reason, Message: f.message,
			ObservedGeneration: s.in.Generation, LastTransitionTime: s.in.Now,
		})
	}
}

// availableFact returns the condition Available. One cluster that is known not to serve
// customers outweighs those that do not respond.
func (s summary) availableFact() fact {
	f := fact{kind: v1.ConditionAvailable}
	var unavailable, stale []v1.ClusterStatus
	for _, c := range s.placed {
		switch {
		case c.Stale:
			stale = append(stale, c)
		case !c.Available:
			unavailable = append(unavailable, c)
		}
	}
	available := fmt.Sprintf("customers can be served in %d of %s", int(s.total)-len(unavailable)-len(stale), plural(s.total, "cluster"))
	switch {
	case s.in.Deleting:
		f.reason, f.message = v1.ReasonDeleting, messageDeleting
	case s.total == 0:
		f.reason, f.message = s.unplacedReason(), s.unplacedMessage()
	case len(unavailable) > 0:
		f.reason, f.message = v1.ReasonUnavailable, available+", and not in "+names(unavailable)
	case len(stale) > 0:
		f.unknown, f.reason, f.message = true, v1.ReasonClusterUnreachable, available+", and no response from "+names(stale)
	default:
		f.status, f.reason, f.message = true, v1.ReasonAvailable, "customers can be served in all clusters"
	}
	return f
}

// stalledFact returns the condition Stalled. A cluster that does not respond comes back by itself,
// and so may one that is not ready.
func (s summary) stalledFact() fact {
	f := fact{kind: v1.ConditionStalled, reason: v1.ReasonReconciled, message: s.notStalledMessage()}
	concerned := s.placed
	if s.in.Deleting {
		concerned = s.left
	}
	var stalled []v1.ClusterStatus
	for _, c := range concerned {
		if c.Stalled {
			stalled = append(stalled, c)
		}
	}
	switch {
	case s.in.Invalid != "" && !s.in.Deleting:
		f.status, f.reason, f.message = true, v1.ReasonInvalidSpec, s.in.Invalid
	case !s.in.Deleting && s.rolloutFailed():
		f.status, f.reason, f.message = true, s.rolloutReason(), s.rolloutMessage()
	case s.phase() == v1.PhasePending && s.unplacedReason() == v1.ReasonNoMatchingCluster:
		f.status, f.reason, f.message = true, v1.ReasonNoMatchingCluster, s.unplacedMessage()
	case len(stalled) > 0:
		f.status, f.reason, f.message = true, cmp.Or(stalled[0].Reason, v1.ReasonProgressing), describe(stalled)
	}
	return f
}

// notStalledMessage says what an application that has not stalled waits for all the same, if anything.
func (s summary) notStalledMessage() string {
	awaited := func(state v1.RolloutState) bool { return s.in.Rollout != nil && s.in.Rollout.State == state }
	switch {
	case s.in.Deleting || s.in.ProtectedDeletion:
		return s.deletingFact().message
	case s.in.Paused || len(s.paused) > 0:
		return "changes are held back by " + s.pausedBy()
	case awaited(v1.RolloutWaitingForApproval), awaited(v1.RolloutWaitingForWindow), awaited(v1.RolloutPaused):
		return s.rolloutMessage()
	case s.total == 0:
		return s.unplacedMessage()
	case s.in.StayReason != "" || s.in.Unmet != "":
		return s.placedFact().message
	case len(s.impaired) > 0 || len(s.failed) > 0:
		return "no change waits for a user, and the condition Degraded says what is wrong in " + names(slices.Concat(s.failed, s.impaired))
	case len(s.lost) > 0:
		return "no change is known to wait for a user; these clusters do not respond: " + names(s.lost)
	default:
		return "nothing waits for a user"
	}
}

func (s summary) placedFact() fact {
	f := fact{kind: v1.ConditionPlaced}
	switch {
	case s.in.Deleting:
		f.reason, f.message = v1.ReasonDeleting, messageDeleting
	case s.in.Invalid != "":
		f.reason, f.message = v1.ReasonInvalidSpec, s.in.Invalid
	case s.total == 0:
		f.reason, f.message = s.unplacedReason(), s.unplacedMessage()
	default:
		f.status, f.reason = true, v1.ReasonPlaced
		f.message = fmt.Sprintf("placed on %s in %s", plural(s.total, "cluster"), plural(s.regions, "region"))
		if s.in.StayReason != "" {
			f.reason, f.message = s.in.StayReason, f.message+"; "+s.in.StayMessage
		}
		if s.in.Unmet != "" {
			f.status, f.reason, f.message = false, v1.ReasonSpreadNotMet, f.message+"; "+s.in.Unmet
		}
	}
	return f
}

func (s summary) appliedFact() fact {
	f := fact{kind: v1.ConditionApplied}
	switch {
	case s.in.Deleting:
		f.reason, f.message = v1.ReasonDeleting, messageDeleting
	case s.total == 0:
		f.reason, f.message = s.unplacedReason(), s.unplacedMessage()
	case s.in.Unrevised != nil:
		f.reason, f.message = s.rolloutReason(), s.rolloutMessage()
	case s.applied == s.total:
		f.status, f.reason, f.message = true, v1.ReasonReconciled, "all clusters have the current spec"
	default:
		f.reason = v1.ReasonWaitingForClusters
		f.message = fmt.Sprintf("%d of %s up to date", s.applied, areClusters(s.total))
		if s.rolledBack() {
			f.reason = v1.ReasonRolledBack
		}
		if len(s.paused) > 0 {
			f.reason, f.message = v1.ReasonPaused, f.message+"; changes are held back by "+s.pausedBy()
		}
	}
	return f
}

// progressingFact returns the condition Progressing. Failed and unreachable clusters do
// not count as progressing: the condition Degraded covers them.
func (s summary) progressingFact() fact {
	f := fact{kind: v1.ConditionProgressing}
	switch {
	case s.in.Deleting:
		f.status, f.reason, f.message = true, v1.ReasonDeleting, s.deletingFact().message
	case s.in.Paused:
		f.reason, f.message = v1.ReasonPaused, "changes are held back by "+s.pausedBy()
	case s.in.Unrevised != nil || s.in.Rollout != nil && s.in.Rollout.State == v1.RolloutFailed:
		f.reason, f.message = s.rolloutReason(), s.rolloutMessage()
	case s.rollingOut() || s.in.Rollout != nil && s.in.Rollout.State == v1.RolloutRollingBack:
		f.status, f.reason, f.message = true, s.rolloutReason(), s.rolloutMessage()
	case len(s.waiting) > 0:
		f.status, f.reason = true, v1.ReasonProgressing
		f.message = fmt.Sprintf("%d of %s up to date; waiting for %s", s.applied, areClusters(s.total), names(s.waiting))
	default:
		f.reason, f.message = v1.ReasonReconciled, "no change is in progress"
	}
	return f
}

// deletingFact returns the condition of an application that is being deleted, or held.
func (s summary) deletingFact() fact {
	f := fact{kind: v1.ConditionDeleting, status: true, reason: v1.ReasonDeleting, message: "the application is deleted in all clusters"}
	switch {
	case s.in.ProtectedDeletion:
		f.reason = v1.ReasonProtected
		f.message = fmt.Sprintf("nothing is deleted while the application is protected; to go on, remove the annotation %s",
			v1.DeletionProtectionAnnotation)
	case len(s.in.Unrecorded) > 0 && s.in.UnrecordedBy != "":
		f.reason = v1.ReasonApplyFailed
		f.message = fmt.Sprintf("what stays behind in %s cannot be recorded: %s", v1.FirstOf(s.in.Unrecorded), s.in.UnrecordedBy)
	case len(s.in.Unrecorded) > 0:
		f.reason = v1.ReasonResidueFull
		f.message = fmt.Sprintf("the record of what stays behind is full for %s: connect the cluster again, or, if it never returns, "+
			"delete the ConfigMap shopfleet-residue-%s in the hub's namespace", v1.FirstOf(s.in.Unrecorded), s.in.Unrecorded[0])
	case len(s.lost) > 0 || len(s.paused) > 0:
		f.reason, f.message = s.blockedDeletion()
	case len(s.left) > 0:
		f.message = s.leftMessage()
	}
	return f
}

// blockedDeletion returns why a deletion does not proceed in some clusters, and what ends that. A
// cluster that does not respond may be paused as well: its return would not suffice.
func (s summary) blockedDeletion() (reason, message string) {
	var causes []string
	reason, behind := v1.ReasonPaused, "the copies"
	if len(s.lost) > 0 {
		reason, behind = v1.ReasonClusterUnreachable, "what cannot be reached"
		causes = append(causes, fmt.Sprintf("waiting for %s to respond", names(s.lost)))
	}
	members := membersByName(s.in.Clusters)
	paused := slices.DeleteFunc(slices.Clone(s.lost), func(c v1.ClusterStatus) bool { return !members[c.Name].Paused })
	if paused = append(paused, s.paused...); len(paused) > 0 {
		sortClusters(paused)
		behind = "the copies"
		causes = append(causes, fmt.Sprintf("the deletion in %s is held back by %s", names(paused), pausedBy(s.in, names(paused))))
	}
	return reason, fmt.Sprintf("%s; to leave %s behind: kubectl shopfleet delete %s -n %s --skip-unreachable",
		strings.Join(causes, "; "), behind, s.in.Key.Name, s.in.Key.Namespace)
}

// certificateFact returns the condition CertificateTrusted, and whether the application has it.
func (s summary) certificateFact() (f fact, has bool) {
	f = fact{kind: v1.ConditionCertificateTrusted, reason: v1.ReasonSelfSignedCertificate}
	selfSigned := slices.DeleteFunc(slices.Clone(s.placed), func(c v1.ClusterStatus) bool { return !c.SelfSigned })
	f.message = fmt.Sprintf("the certificate is self-signed in %d of %s: install cert-manager in %s, or set spec.security.tls.secretRef in place of issuerRef",
		len(selfSigned), plural(s.total, "cluster"), names(selfSigned))
	return f, len(selfSigned) > 0 && !s.in.Deleting
}

// databaseFact returns the condition DatabaseLost, and whether the application has it. What was known of a
// cluster that does not respond still counts.
func (s summary) databaseFact() (f fact, has bool) {
	f = fact{kind: v1.ConditionDatabaseLost, status: true, reason: v1.ReasonDatabaseLost}
	lost := slices.DeleteFunc(slices.Clone(s.placed), func(c v1.ClusterStatus) bool { return !c.DatabaseLost })
	f.message = fmt.Sprintf("restore a backup, or annotate the application with %s: <token> for an empty database: the data is gone in %d of %s: %s",
		v1.StartEmptyAnnotation, len(lost), plural(s.total, "cluster"), names(lost))
	return f, len(lost) > 0 && !s.in.Deleting
}

// degradedFact returns the condition Degraded: a cluster has failed, its copy is degraded, or it does not respond.
func (s summary) degradedFact() fact {
	f := fact{kind: v1.ConditionDegraded}
	problems := slices.Concat(s.failed, s.impaired, s.lost)
	switch {
	case s.in.Invalid != "":
		f.status, f.reason, f.message = true, v1.ReasonInvalidSpec, s.in.Invalid
	case len(problems) > 0:
		f.status, f.reason, f.message = true, cmp.Or(problems[0].Reason, v1.ReasonProgressing), describe(problems)
	default:
		f.reason, f.message = v1.ReasonReconciled, "no cluster has failed, has a problem or is unreachable"
	}
	return f
}

func plural(n int32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
