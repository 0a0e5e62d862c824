package scheduler

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/retention"
	"github.com/shopfleet/shopfleet/hub/data/schedule"
)

// verify schedules the verification of the newest successful backup of a cluster when it
// is due, and returns a problem if the last verification failed.
func (in input) verify(decision *Decision, h *History, mine []*v1.Backup) problem {
	for _, b := range mine {
		if b.Status.LastVerifiedTime != nil && b.Status.LastVerifiedTime.After(h.LastVerified) {
			h.LastVerified = b.Status.LastVerifiedTime.Time
		}
	}
	tried := in.verifications(h.Cluster)
	if len(tried) > 1 && !in.safeMode {
		decision.DeleteVerify = append(decision.DeleteVerify, slices.DeleteFunc(tried[:len(tried)-1], func(r *v1.Restore) bool { return !finished(r) })...)
	}
	policy := in.app.Spec.Database.Backup
	failed := len(tried) > 0 && tried[len(tried)-1].Status.Phase == v1.RestoreFailed
	if policy.Verify.Schedule == "" || in.members[h.Cluster].Spec.Mode == v1.ModeAgent {
		return problem{}
	}
	when, err := schedule.Parse(string(policy.Verify.Schedule), string(policy.TimeZone))
	if err != nil {
		return problem{v1.ReasonInvalidSpec, fmt.Sprintf("spec.database.backup.verify: %v", err)}
	}
	h.LastVerifyScheduledTime = in.lastVerifyScheduledTime(h.Cluster)
	due := when.Due(h.LastVerifyScheduledTime, in.now, in.spread(h.Cluster, when.MinInterval(in.now)))
	decision.RequeueAt = earliest(decision.RequeueAt, due.NextAt)
	busy := in.safeMode || len(tried) > 0 && !finished(tried[len(tried)-1])
	good := newestGood(verifiable(mine))
	if good != nil && good.Spec.Method != v1.BackupDump && !csi.HasSnapshots(in.members[h.Cluster]) {
		good = nil // It would be refused.
	}
	if !due.ScheduledTime.IsZero() && !busy && good != nil {
		decision.Verify = append(decision.Verify, in.verification(h.Cluster, good.Name, due.ScheduledTime))
		h.LastVerifyScheduledTime = due.ScheduledTime
	}
	if last := newestGood(mine); last != nil && len(verifiable([]*v1.Backup{last})) == 0 {
		decision.notes = append(decision.notes, h.Cluster+": dumps are not in a bucket, and can only be verified there")
	}
	h.VerifyDeadline, h.VerifyFailed = h.LastVerifyScheduledTime.Add(when.DefaultMaxRPO(in.now)), failed
	if !h.LastVerified.IsZero() {
		h.VerifyDeadline = h.LastVerified.Add(when.DefaultMaxRPO(in.now))
	}
	if failed {
		last := tried[len(tried)-1]
		return problem{v1.ReasonVerificationFailed, fmt.Sprintf("%s: backup %s could not be verified: %s", h.Cluster, last.Spec.BackupRef.Name, last.Status.Message)}
	}
	return problem{}
}

// verifiable returns the backups without the dumps that are not in a bucket.
func verifiable(mine []*v1.Backup) []*v1.Backup {
	return slices.DeleteFunc(slices.Clone(mine), func(b *v1.Backup) bool {
		d := b.Status.Dump
		return b.Spec.Method == v1.BackupDump && (d == nil || d.Object == nil || d.Object.State != v1.DumpSent)
	})
}

// verifications returns the Restores that verify backups of a cluster, oldest first.
func (in input) verifications(cluster string) []*v1.Restore {
	var out []*v1.Restore
	for i := range in.restores {
		r := &in.restores[i]
		if r.Spec.Verify && r.Spec.ClusterRef.Name == cluster && r.Labels[v1.InstanceLabel] == in.app.Name && r.DeletionTimestamp.IsZero() {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *v1.Restore) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return out
}

func finished(r *v1.Restore) bool {
	return r.Status.Phase == v1.RestoreCompleted || r.Status.Phase == v1.RestoreFailed
}

// lastVerifyScheduledTime returns the newest handled scheduled time of the verify
// schedule, or the creation time of the application.
func (in input) lastVerifyScheduledTime(cluster string) time.Time {
	for _, b := range in.app.Status.Backups {
		if b.Name == cluster && b.LastVerifyScheduledTime != nil && b.LastVerifyScheduledTime.Time.Before(in.now.Add(retention.MaxClockSkew)) {
			return b.LastVerifyScheduledTime.Time
		}
	}
	return in.app.CreationTimestamp.Time
}

// verification returns the Restore that verifies a backup.
func (in input) verification(cluster, backup string, scheduledTime time.Time) *v1.Restore {
	return &v1.Restore{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.app.Namespace, Name: schedule.BackupName(in.app.Name, cluster, scheduledTime) + "-verify",
			Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: in.app.Name, v1.ClusterLabel: cluster},
		},
		Spec: v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: backup}, ClusterRef: v1.ObjectReference{Name: cluster}, Verify: true},
	}
}
