package rediscover

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// found is the result of listing an account.
type found struct {
	account  *v1.CloudAccount
	snapshot []cloud.Snapshot
	now      time.Time
	// unlisted are why regions, or the bucket, could not be listed.
	unlisted []steps.Result
	// dumps are the Backups to create for unknown dumps.
	dumps []v1.Backup
	// known counts the dumps that have a Backup, unread those with an invalid manifest,
	// and more those beyond the limit of one pass.
	known, unread, more int
}

// wait returns when to list again what did not answer; 0 if there is nothing to wait for.
func (f found) wait() time.Duration {
	var shortest time.Duration
	for _, result := range f.unlisted {
		if !result.Fatal && (shortest == 0 || result.Wait < shortest) {
			shortest = result.Wait
		}
	}
	return shortest
}

// assemble groups snapshots into Backups, sorted by namespace and name. It counts
// snapshots without the required tags and skips them.
func assemble(f found) (backups []v1.Backup, left int) {
	byKey := map[string][]cloud.Snapshot{}
	for _, s := range f.snapshot {
		if lacksTags(s.Tags) {
			left++
			continue
		}
		key := s.Tags[cloud.TagNamespace] + "/" + s.Tags[cloud.TagBackup]
		byKey[key] = append(byKey[key], s)
	}
	for _, snapshots := range byKey {
		backups = append(backups, f.backup(snapshots))
	}
	slices.SortFunc(backups, func(a, b v1.Backup) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return backups, left
}

// lacksTags reports whether a required tag is empty.
func lacksTags(t cloud.Tags) bool {
	needed := []string{cloud.TagNamespace, cloud.TagBackup, cloud.TagAppName, cloud.TagCluster, cloud.TagClaim, cloud.TagApp}
	return slices.ContainsFunc(needed, func(key string) bool { return t[key] == "" })
}

// backup returns the Backup for a non-empty group of snapshots.
func (f found) backup(snapshots []cloud.Snapshot) v1.Backup {
	// Originals before copies, what did not fail before what did, the oldest first.
	slices.SortFunc(snapshots, func(a, b cloud.Snapshot) int {
		return cmp.Or(strings.Compare(a.Tags[cloud.TagCopyOf], b.Tags[cloud.TagCopyOf]), cmp.Compare(failed(a), failed(b)), a.TakenAt.Compare(b.TakenAt), strings.Compare(a.Ref.ID, b.Ref.ID))
	})
	tags := snapshots[0].Tags
	b := v1.Backup{
		ObjectMeta: f.meta(tags[cloud.TagNamespace], tags[cloud.TagBackup], labels{tags[cloud.TagAppName], tags[cloud.TagCluster]}),
		Spec: v1.BackupSpec{
			AppRef: v1.ObjectReference{Name: tags[cloud.TagAppName]}, ClusterRef: v1.ObjectReference{Name: tags[cloud.TagCluster]},
			Method: v1.BackupSnapshot, Deletion: v1.DeletionRetain,
		},
		Status: v1.BackupStatus{
			HubUID: tags[cloud.TagHub], AppUID: tags[cloud.TagApp], Account: f.account.Name, Provider: f.account.Spec.Provider,
			Engine: v1.Engine(tags[cloud.TagEngine]), Version: tags[cloud.TagVersion],
			Consistency: v1.Consistency(tags[cloud.TagLevel]), Position: database.Position(v1.Engine(tags[cloud.TagEngine]), tags[cloud.TagPosition]),
		},
	}
	if scheduledTime, err := time.Parse(time.RFC3339, tags[cloud.TagScheduledTime]); err == nil {
		b.Spec.ScheduledTime = &metav1.Time{Time: scheduledTime}
	}
	if days, err := strconv.ParseInt(tags[cloud.TagDeleteLock], 10, 32); err == nil && days > 0 && days <= dumps.MaxLockDays {
		b.Status.DeleteLockDays = int32(days)
	}
	for _, s := range snapshots {
		add(&b.Status, s)
	}
	f.setPhase(&b, tags)
	return b
}

// labels are the label values of a Backup.
type labels struct{ app, cluster string }

// meta returns the metadata of a rediscovered Backup.
func (f found) meta(namespace, name string, l labels) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Annotations: map[string]string{v1.RediscoveredAnnotation: f.account.Name},
		Finalizers:  []string{v1.BackupFinalizer},
		Labels:      map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: l.app, v1.ClusterLabel: l.cluster},
	}
}

// failed returns 1 for a failed snapshot and 0 for others, for sorting.
func failed(s cloud.Snapshot) int {
	if s.State == cloud.StateFailed {
		return 1
	}
	return 0
}

// add adds a snapshot to a status: as the snapshot of its claim, or as a copy.
func add(status *v1.BackupStatus, s cloud.Snapshot) {
	entry := v1.CloudSnapshot{
		Region: s.Ref.Region, Name: s.Name, ID: s.Ref.ID, State: string(s.State),
		Progress: int32(min(max(s.Progress, 0), 100)),
	}
	claim := s.Tags[cloud.TagClaim]
	i := slices.IndexFunc(status.Snapshots, func(v v1.VolumeSnapshot) bool { return v.Claim == claim })
	if i >= 0 {
		v := &status.Snapshots[i]
		known := v.Region == entry.Region || slices.ContainsFunc(v.Copies, func(c v1.CloudSnapshot) bool { return c.Region == entry.Region })
		if !known {
			v.Copies = append(v.Copies, entry)
		}
		return
	}
	status.Snapshots = append(status.Snapshots, v1.VolumeSnapshot{
		Claim: claim, VolumeUID: s.Tags[cloud.TagVolume], Size: resource.NewQuantity(s.SizeBytes, resource.BinarySI).String(),
		CloudSnapshot: entry,
	})
	status.Region = cmp.Or(status.Region, s.Ref.Region)
	if s.Tags[cloud.TagCopyOf] == "" && !s.TakenAt.IsZero() && (status.SnapshotTime == nil || s.TakenAt.After(status.SnapshotTime.Time)) {
		status.SnapshotTime = v1.Seconds(s.TakenAt)
	}
}

// lacksCopy reports whether a copy of a snapshot failed.
func lacksCopy(s v1.VolumeSnapshot) bool {
	return slices.ContainsFunc(s.Copies, func(c v1.CloudSnapshot) bool { return c.State == string(cloud.StateFailed) })
}

// setPhase sets the phase and the condition Ready, depending on whether the backup is
// complete.
func (f found) setPhase(b *v1.Backup, tags cloud.Tags) {
	s := &b.Status
	var bytes int64
	ready := len(s.Snapshots) > 0
	for i := range s.Snapshots {
		if q, err := resource.ParseQuantity(s.Snapshots[i].Size); err == nil {
			bytes += q.Value()
		}
		ready = ready && s.Snapshots[i].State == string(cloud.StateReady)
	}
	s.Size = resource.NewQuantity(bytes, resource.BinarySI).String()
	if s.SnapshotTime == nil {
		s.SnapshotTime = b.Spec.ScheduledTime // The original snapshot no longer exists.
	}
	of, err := strconv.Atoi(tags[cloud.TagOf])
	whole := err != nil || of == len(s.Snapshots)
	s.Phase, s.Message = v1.BackupCompleted, "Rediscovered in the cloud"
	c := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: s.Message}
	if !ready || !whole {
		s.Phase, s.Message = v1.BackupFailed, "Rediscovered in the cloud, but incomplete"
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1.ReasonSnapshotMissing, s.Message
	}
	if s.Phase == v1.BackupCompleted && slices.ContainsFunc(s.Snapshots, lacksCopy) {
		s.Phase, s.Message = v1.BackupPartiallyCompleted, "Rediscovered in the cloud; a copy failed"
		c.Reason, c.Message = v1.ReasonPartiallyCompleted, s.Message
	}
	c.LastTransitionTime = metav1.NewTime(f.now)
	s.CompletionTime = v1.Seconds(f.now)
	meta.SetStatusCondition(&s.Conditions, c)
}
