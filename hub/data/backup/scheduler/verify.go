package scheduler

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
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
	if policy.Verify.Schedule == "" {
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
	if good != nil && !in.canVerify(good) {
		good = nil // It would be refused.
	}
	if !due.ScheduledTime.IsZero() && !busy && good != nil {
		decision.Verify = append(decision.Verify, in.verification(h.Cluster, good, due.ScheduledTime))
		h.LastVerifyScheduledTime = due.ScheduledTime
	}
	decision.notes = append(decision.notes, notesOf(h.Cluster, mine)...)
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

// notesOf returns what BackupReady says of the verifications in a cluster.
func notesOf(cluster string, mine []*v1.Backup) (notes []string) {
	if proven := newest(mine, func(b *v1.Backup) bool { return b.Status.Verified != nil }); proven != nil && proven.Status.Verified.From.Cluster != cluster {
		from := proven.Status.Verified.From
		notes = append(notes, fmt.Sprintf("%s: verified from the copy in %s, in cluster %s", cluster, from.Region, from.Cluster))
	}
	if last := newestGood(mine); last != nil && len(verifiable([]*v1.Backup{last})) == 0 {
		notes = append(notes, cluster+": dumps are not in a bucket, and can only be verified there")
	}
	return notes
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
		if r.Spec.Verify && r.Labels[v1.ClusterLabel] == cluster && r.Labels[v1.InstanceLabel] == in.app.Name && r.DeletionTimestamp.IsZero() {
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

// canVerify reports whether a backup would not be refused where it is verified.
func (in input) canVerify(b *v1.Backup) bool {
	own := b.Spec.ClusterRef.Name
	return b.Spec.Method == v1.BackupDump || in.verifiesIn(b) != own || csi.HasSnapshots(in.members[own])
}

// verifiesIn returns the cluster in which a backup is verified: one in the region of a copy, which is what is left when the region of
// the backup is lost, and there one with the application before others; else the cluster of the backup.
func (in input) verifiesIn(b *v1.Backup) string {
	for _, region := range b.Spec.CopyToRegions {
		found := ""
		for _, m := range in.withCopies {
			if m.Status.Region == region && hasCopies(b, m) && (in.isPlaced(m.Name) || in.fitsAnywhere()) && (found == "" || in.isPlaced(m.Name) && !in.isPlaced(found)) {
				found = m.Name
			}
		}
		if found != "" {
			return found
		}
	}
	return b.Spec.ClusterRef.Name
}

// hasCopies reports whether all snapshots of a backup can be restored in a member, which is in the region of copies.
func hasCopies(b *v1.Backup, m *v1.MemberCluster) bool {
	if len(b.Status.Snapshots) == 0 || m.IsPaused() || !m.DeletionTimestamp.IsZero() || !csi.HasSnapshots(m) || csi.ClusterObstacle(b, m).Reason != "" {
		return false
	}
	for i := range b.Status.Snapshots {
		if id, missing := csi.SnapshotIn(m.Status.Region, &b.Status, &b.Status.Snapshots[i]); id == "" || missing {
			return false
		}
	}
	return true
}

// fitsAnywhere reports whether the database asks for nothing that only clusters with the application need to have.
func (in input) fitsAnywhere() bool {
	db := in.app.Spec.Database
	return db.StorageClassName == nil && len(db.NodeSelector) == 0 && equality.Semantic.DeepEqual(in.app.Spec.CloudConfig, v1.CloudConfig{})
}

func (in input) isPlaced(cluster string) bool {
	return slices.ContainsFunc(in.app.Status.Clusters, func(c v1.ClusterStatus) bool { return c.Name == cluster })
}

// verification returns the Restore that verifies a backup.
func (in input) verification(cluster string, b *v1.Backup, scheduledTime time.Time) *v1.Restore {
	return &v1.Restore{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.app.Namespace, Name: schedule.BackupName(in.app.Name, cluster, scheduledTime) + "-verify",
			Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: in.app.Name, v1.ClusterLabel: cluster},
		},
		Spec: v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: b.Name}, ClusterRef: v1.ObjectReference{Name: in.verifiesIn(b)}, Verify: true},
	}
}
