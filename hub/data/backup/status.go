package backup

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// conclude sets the phase, the times and the conditions by the result of a pass.
func (w *work) conclude(result steps.Result) {
	s := &w.backup.Status
	s.ObservedGeneration = w.backup.Generation
	if w.wasPaused() && result.Reason != v1.ReasonPaused {
		s.ResumeTime = v1.Seconds(w.now)
	}
	ready := metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: "The backup can be restored"}
	failed := w.failedCopies()
	switch {
	case result.Fatal:
		s.Phase, s.CompletionTime = v1.BackupFailed, v1.Seconds(w.now)
	case result.Stops() && (w.allTaken() || isDumped(w.backup)):
		s.Phase = v1.BackupFinalizing
	case result.Stops() && s.Phase != v1.BackupInProgress:
		s.Phase = v1.BackupPending
	case result.Stops():
	case failed != "":
		s.Phase, s.CompletionTime = v1.BackupPartiallyCompleted, v1.Seconds(w.now)
		ready.Reason, ready.Message = v1.ReasonPartiallyCompleted, v1.Excerpt("The backup can be restored where it is: "+failed, steps.MaxMessage)
	default:
		s.Phase, s.CompletionTime = v1.BackupCompleted, v1.Seconds(w.now)
	}
	if result.Stops() {
		ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: result.Reason, Message: v1.Excerpt(result.Message, steps.MaxMessage)}
	}
	s.Message = ready.Message
	w.set(v1.ConditionReady, ready)
	w.concludeCopies(failed)
}

// concludeCopies sets the condition Copied of a backup that is to be elsewhere too.
func (w *work) concludeCopies(failed string) {
	d := w.backup.Status.Dump
	c := metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonCopying, Message: "Not all copies are made"}
	switch {
	case len(w.backup.Spec.CopyToRegions) > 0 && csi.CapabilitiesOf(w.backup.Status.Provider).Copy != csi.CopyNone:
		if w.allElsewhere() {
			c = metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: "All copies are made"}
		}
	case w.unsent != "":
	case d == nil || d.Object == nil:
		return
	case d.Object.State == v1.DumpSent:
		c = metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: "The dump is in the bucket"}
	default:
		c.Reason, c.Message = v1.ReasonSending, "Not all of the dump is in the bucket"
	}
	if failed != "" {
		c.Reason, c.Message = v1.ReasonCopyFailed, v1.Excerpt(failed, steps.MaxMessage)
	}
	w.set(v1.ConditionCopied, c)
}

// failedCopies returns which copies failed and why, or why the dump is not in the bucket; empty
// if none failed.
func (w *work) failedCopies() string {
	if w.unsent != "" {
		return w.unsent
	}
	var failed []string
	for i := range w.backup.Status.Snapshots {
		for _, c := range w.backup.Status.Snapshots[i].Copies {
			if c.State == string(cloud.StateFailed) {
				failed = append(failed, "the copy in "+c.Region+" failed: "+c.Message)
			}
		}
	}
	slices.Sort(failed)
	return strings.Join(slices.Compact(failed), "; ")
}

func (w *work) set(kind string, c metav1.Condition) {
	c.Type, c.ObservedGeneration, c.LastTransitionTime = kind, w.backup.Generation, metav1.NewTime(w.now)
	meta.SetStatusCondition(&w.backup.Status.Conditions, c)
}

// readyOf returns the condition Ready of a Backup.
func readyOf(b *v1.Backup) metav1.Condition {
	if c := meta.FindStatusCondition(b.Status.Conditions, v1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{Reason: v1.ReasonRetrying}
}

// limitToSnapshot fails a Backup whose point in time is not fixed within snapshotTimeout.
func (w *work) limitToSnapshot(result steps.Result) steps.Result {
	return w.limit(result, snapshotTimeout, "the backup was not taken within")
}

// limitToCompletion fails a Backup that is not complete within readyTimeout.
func (w *work) limitToCompletion(result steps.Result) steps.Result {
	return w.limit(result, readyTimeout, "not complete within")
}

// limit returns a fatal result once a Backup is older than a limit, and else the result, whose
// wait ends with the limit. A pause has no time limit.
func (w *work) limit(result steps.Result, limit time.Duration, what string) steps.Result {
	switch {
	case result.Reason == v1.ReasonPaused:
		return result
	case !result.Stops() || result.Fatal || w.age() <= limit:
		return result.Within(limit - w.age())
	}
	reason := v1.ReasonSnapshotStuck
	switch {
	case result.Reason == v1.ReasonDatabaseLost:
		reason = result.Reason
	case w.backup.Spec.Method == v1.BackupDump && isDumped(w.backup):
		reason = v1.ReasonSendFailed
	case w.backup.Spec.Method == v1.BackupDump:
		reason = v1.ReasonDumpFailed
	}
	return steps.Fail(reason, "%s %s: %s", what, limit, result.Message)
}

func (w *work) allTaken() bool {
	return w.all(func(s *v1.VolumeSnapshot) bool {
		return s.State == string(cloud.StateTaken) || s.State == string(cloud.StateReady)
	})
}

func (w *work) allReady() bool {
	return w.all(func(s *v1.VolumeSnapshot) bool { return s.State == string(cloud.StateReady) })
}

// allElsewhere reports whether each snapshot is in the regions that it should be in: copied, or stored there
// in the first place.
func (w *work) allElsewhere() bool {
	if csi.CapabilitiesOf(w.backup.Status.Provider).Copy == csi.CopyByLocation {
		return w.allReady()
	}
	return w.allCopied()
}

func (w *work) allCopied() bool {
	return w.all(func(s *v1.VolumeSnapshot) bool {
		made := map[string]bool{s.Region: true}
		for _, c := range s.Copies {
			made[c.Region] = c.State == string(cloud.StateReady)
		}
		return !slices.ContainsFunc(w.backup.Spec.CopyToRegions, func(region string) bool { return !made[region] })
	})
}

// all reports whether there are snapshots and something is true of each.
func (w *work) all(is func(*v1.VolumeSnapshot) bool) bool {
	snapshots := w.backup.Status.Snapshots
	for i := range snapshots {
		if !is(&snapshots[i]) {
			return false
		}
	}
	return len(snapshots) > 0
}

// names returns the claims whose snapshots are taken.
func (w *work) names() string {
	names := make([]string, 0, len(w.backup.Status.Snapshots))
	for i := range w.backup.Status.Snapshots {
		names = append(names, w.backup.Status.Snapshots[i].Claim)
	}
	return strings.Join(names, ", ")
}

// locate returns the location of volumes that do not state their own.
func (w *work) locate() csi.Defaults {
	return csi.Defaults{Region: w.backup.Status.Region}
}
