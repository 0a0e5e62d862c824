package backup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
)

// maxAttempts bounds the attempts at a snapshot that fails, or a copy that disappears, after the provider accepted it.
const maxAttempts = 3

const (
	// duplicateWindow is for how long after the last request a name is looked up, if there
	// were several: far longer than EC2 takes to show what it has made.
	duplicateWindow = 10 * time.Minute
	duplicateDelay  = time.Minute
)

// takeSnapshots requests the missing snapshots and observes the others.
func (w *work) takeSnapshots(ctx context.Context) (steps.Result, error) {
	s := &w.backup.Status
	session, err := w.options.Accounts.Session(ctx, s.Account, s.Region)
	if err != nil {
		return w.limitToSnapshot(steps.FromError(err, "connecting to the cloud")), nil
	}
	var asking []*v1.CloudSnapshot
	for i := range s.Snapshots {
		c := &s.Snapshots[i].CloudSnapshot
		if c.ID == "" && intentOf(c).MaySend(w.now) {
			asking = append(asking, c)
		}
	}
	if result, err := w.mayAsk(ctx, asking); result.Stops() || err != nil {
		return result, err
	}
	if len(asking) > 0 {
		w.checkpoint(ctx)
	}
	if err := w.recordIntents(ctx, asking); err != nil {
		return steps.Result{}, err
	}
	first := w.observeSnapshots(ctx, session, asking)
	if first.Fatal {
		return first, nil
	}
	w.recordTaken()
	switch {
	case first.Stops():
		return w.limitToSnapshot(first), nil
	case !w.allTaken():
		return w.limitToSnapshot(steps.RetryAfter(steps.Poll(w.age()), v1.ReasonCreatingSnapshots, "waiting for the point in time of %s", w.names())), nil
	case !w.allReady():
		return w.limitToCompletion(steps.RetryAfter(steps.Poll(w.age()), v1.ReasonUploading, "the point in time is fixed; the provider stores the data")), nil
	default:
		return steps.Result{}, nil
	}
}

// checkpoint makes the database write its memory to disk before a snapshot is requested, and
// records the consistency. A backup is crash consistent if the engine has no checkpoints, or one
// failed before any request. The position is that before the first request: a later request may find the
// snapshot of an earlier one, whose response was lost.
func (w *work) checkpoint(ctx context.Context) {
	s := &w.backup.Status
	if s.Consistency == v1.ConsistencyCrash {
		return
	}
	output, err := w.execInDatabase(ctx, database.SnapshotCommand(s.Engine))
	if s.Consistency == "" && err == nil {
		s.Position = database.Position(s.Engine, output)
	}
	s.Consistency = v1.ConsistencyApplication
	switch {
	case s.Engine != v1.EnginePostgreSQL:
		s.Consistency = v1.ConsistencyCrash
	case err != nil:
		s.Consistency = v1.ConsistencyCrash
		log.FromContext(ctx).Info("Database wrote no checkpoint", "cause", err.Error())
		w.options.Recorder.Eventf(w.backup, nil, corev1.EventTypeWarning, "CheckpointFailed", "BackUp",
			"The database in %s wrote no checkpoint; the backup is crash consistent", w.backup.Spec.ClusterRef.Name)
	}
}

// execInDatabase runs a command in the container of the primary, and returns the beginning of its output.
func (w *work) execInDatabase(ctx context.Context, command []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, database.SnapshotTimeout)
	defer cancel()
	member, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterRef.Name))
	if err != nil {
		return "", fmt.Errorf("connecting to %q: %w", w.backup.Spec.ClusterRef.Name, err)
	}
	pod := client.ObjectKey{Namespace: w.backup.Namespace, Name: render.DatabasePod(w.backup.Spec.AppRef.Name)}
	return w.options.Exec(ctx, member, podexec.Container{Pod: pod, Name: database.Container}, podexec.Command{Args: command})
}

// observeSnapshots observes each snapshot, and requests those that may be requested.
func (w *work) observeSnapshots(ctx context.Context, session cloud.Session, asking []*v1.CloudSnapshot) steps.Result {
	first := steps.Result{}
	for i := range w.backup.Status.Snapshots {
		snapshot := &w.backup.Status.Snapshots[i]
		may := slices.Contains(asking, &snapshot.CloudSnapshot)
		result := w.observeSnapshot(ctx, session, &snapshot.CloudSnapshot, w.ensure(session, snapshot, may))
		if result.Fatal {
			return result
		}
		if result.Stops() && !first.Stops() {
			first = result
		}
	}
	return first
}

// recordIntents records in the status that requests are about to be sent.
func (w *work) recordIntents(ctx context.Context, asking []*v1.CloudSnapshot) error {
	if len(asking) == 0 {
		return nil
	}
	w.now = w.options.Clock.Now() // Connecting to the cloud may take time.
	for _, c := range asking {
		store(c, intentOf(c).Sending(w.now))
		c.Requests++
	}
	if !w.allTaken() {
		w.backup.Status.Phase = v1.BackupInProgress
	}
	return w.saveStatus(ctx)
}

// saveStatus writes the status if it changed, and goes on with the same objects, which the
// answer would otherwise replace. The conditions do not change: they are from the last pass.
func (w *work) saveStatus(ctx context.Context) error {
	wanted := w.backup
	w.backup = wanted.DeepCopy()
	if err := w.write(ctx); err != nil {
		return err
	}
	wanted.ResourceVersion = w.backup.ResourceVersion
	w.backup = wanted
	return nil
}

// ensure returns a function that requests a snapshot, or only finds it.
func (w *work) ensure(session cloud.Session, s *v1.VolumeSnapshot, may bool) func(context.Context) (cloud.Snapshot, error) {
	return func(ctx context.Context) (cloud.Snapshot, error) {
		spec := cloud.SnapshotSpec{
			Name:      s.Name,
			Source:    cloud.VolumeRef{Region: s.Region, Zone: s.Zone, Handle: s.Volume},
			SourceUID: s.VolumeUID,
			Tags:      w.tags(s),
			Attempt:   int(s.Attempt), MaySend: may,
		}
		if csi.CapabilitiesOf(w.backup.Status.Provider).Copy == csi.CopyByLocation && len(w.backup.Spec.CopyToRegions) > 0 {
			spec.Locations = w.backup.Spec.CopyToRegions[:1]
		}
		return session.Snapshots.EnsureSnapshot(ctx, spec)
	}
}

// observeSnapshot updates what is known of one snapshot. It goes by the name until it
// is ready, not by the ID: requests whose responses were lost may have made others.
func (w *work) observeSnapshot(ctx context.Context, session cloud.Session, c *v1.CloudSnapshot, ensure func(context.Context) (cloud.Snapshot, error)) steps.Result {
	if c.State == string(cloud.StateReady) && !w.mayHaveDuplicates(c) {
		return steps.Result{}
	}
	found, err := ensure(ctx)
	if c.ID != "" && (cloud.ClassOf(err) == cloud.ClassAmbiguous || cloud.ClassOf(err) == cloud.ClassNotFound) {
		return w.readByID(ctx, session, c)
	}
	w.recordResponse(c, found.State, err)
	if err != nil {
		result := steps.FromError(err, "creating the snapshot")
		if cloud.ClassOf(err) == cloud.ClassAmbiguous {
			result.Wait = max(min(intentOf(c).Wait(w.now), result.Wait), steps.PollFirst)
		}
		return result
	}
	duplicates := w.removeDuplicates(ctx, session, found)
	if result := w.recordSnapshot(ctx, session, c, found); result.Stops() {
		return result
	}
	if duplicates != nil {
		return steps.FromError(duplicates, "deleting what a lost response left behind")
	}
	if c.State == string(cloud.StateReady) && w.mayHaveDuplicates(c) {
		return steps.RetryAfter(duplicateDelay, v1.ReasonRetrying, "waiting until nothing more can come of the requests in %s whose responses were lost", c.Region)
	}
	return steps.Result{}
}

// mayHaveDuplicates reports whether another snapshot of the name may still turn up: after more
// than one request, and until what they made must be visible for sure.
func (w *work) mayHaveDuplicates(c *v1.CloudSnapshot) bool {
	return c.Requests > 1 && c.SentTime != nil && w.now.Sub(c.SentTime.Time) < w.options.Waits.Scaled(duplicateWindow)
}

// readByID reads a snapshot whose ID is recorded and whose name was not found. A copy that is gone
// is begun anew; a snapshot of the volume would have another point in time.
func (w *work) readByID(ctx context.Context, session cloud.Session, c *v1.CloudSnapshot) steps.Result {
	found, err := session.Snapshots.GetSnapshot(ctx, cloud.SnapshotRef{Region: c.Region, ID: c.ID})
	switch {
	case cloud.ClassOf(err) == cloud.ClassNotFound && !intentOf(c).MaySend(w.now):
		return steps.Result{} // It may not be shown yet.
	case cloud.ClassOf(err) == cloud.ClassNotFound && w.isCopy(c):
		return w.beginAnew(c, "it was deleted while it was made")
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		c.State, c.Message = "", "it is not there any more"
		return steps.Fail(v1.ReasonSnapshotMissing, "the snapshot in %s was deleted while it was made", c.Region)
	case err != nil:
		return steps.FromError(err, "looking at the snapshot")
	case !w.owner().Owns(found.Tags):
		return steps.Fail(v1.ReasonSnapshotForeign, "the hub's tags were removed from the snapshot in %s, which is neither used nor deleted: make another Backup", c.Region)
	}
	return w.recordSnapshot(ctx, session, c, found)
}

// recordSnapshot records the observed state of a snapshot. One that failed is deleted. If that does
// not succeed, deleteEarlier deletes it with the Backup.
func (w *work) recordSnapshot(ctx context.Context, session cloud.Session, c *v1.CloudSnapshot, found cloud.Snapshot) steps.Result {
	if found.State == cloud.StateFailed {
		if err := session.Snapshots.DeleteSnapshot(ctx, found.Ref, w.owner()); err != nil {
			log.FromContext(ctx).Info("Failed snapshot was not deleted", "snapshot", found.Ref.ID, "region", c.Region, "cause", err.Error())
		}
		return w.beginAnew(c, found.Message)
	}
	c.ID, c.State, c.Message = found.Ref.ID, string(found.State), ""
	c.Progress = int32(min(max(found.Progress, 0), 100)) / 10 * 10 // In tenths: each change is a write.
	// The backup's point in time is that of the last of its own volumes. Copies do not count: their
	// data is older than their snapshot times.
	if !found.TakenAt.IsZero() && found.State != cloud.StateCreating && !w.isCopy(c) {
		if at := v1.Seconds(found.TakenAt); w.backup.Status.SnapshotTime == nil || w.backup.Status.SnapshotTime.Before(at) {
			w.backup.Status.SnapshotTime = at
		}
	}
	return steps.Result{}
}

// beginAnew begins another attempt at a snapshot that the provider lost, which has a name of its
// own, and gives up after the last one.
func (w *work) beginAnew(c *v1.CloudSnapshot, why string) steps.Result {
	c.ID, c.State, c.Progress, c.Message = "", "", 0, v1.Excerpt(why, steps.MaxMessage)
	c.Requests, c.SentTime = 0, nil
	if c.Attempt++; c.Attempt >= maxAttempts {
		c.State = string(cloud.StateFailed)
		return steps.Fail(v1.ReasonSnapshotFailed, "the provider gave up on the snapshot in %s: %s", c.Region, c.Message)
	}
	return steps.RetryAfter(steps.Transient, v1.ReasonRetrying, "the provider gave up on the snapshot in %s; asking again", c.Region)
}

// isCopy reports whether an entry of the status is a copy, and not a snapshot of a volume.
func (w *work) isCopy(c *v1.CloudSnapshot) bool {
	for i := range w.backup.Status.Snapshots {
		if &w.backup.Status.Snapshots[i].CloudSnapshot == c {
			return false
		}
	}
	return true
}

// recordTaken sets the time of a backup whose provider reports none.
func (w *work) recordTaken() {
	if w.backup.Status.SnapshotTime == nil && w.allTaken() {
		w.backup.Status.SnapshotTime = v1.Seconds(w.now)
	}
}

// removeDuplicates deletes the snapshots that lost responses left behind, each after reading it
// again. It returns the error of the first one that it could not delete.
func (w *work) removeDuplicates(ctx context.Context, session cloud.Session, kept cloud.Snapshot) error {
	var left error
	for _, ref := range kept.Duplicates {
		other, err := session.Snapshots.GetSnapshot(ctx, ref)
		if err == nil && other.SourceHandle == kept.SourceHandle && other.Ref.ID != kept.Ref.ID {
			err = session.Snapshots.DeleteSnapshot(ctx, ref, w.owner())
		}
		if err != nil && cloud.ClassOf(err) != cloud.ClassNotFound && !isForeign(err) && left == nil {
			left = err
		}
	}
	return left
}

// tags returns the tags of a snapshot, from which its Backup can be created again.
func (w *work) tags(s *v1.VolumeSnapshot) cloud.Tags {
	b := w.backup
	scheduledTime := b.CreationTimestamp.Time
	if b.Spec.ScheduledTime != nil {
		scheduledTime = b.Spec.ScheduledTime.Time
	}
	tags := cloud.Tags{
		cloud.TagHub: w.owner().Hub, cloud.TagApp: b.Status.AppUID,
		cloud.TagNamespace: b.Namespace, cloud.TagAppName: b.Spec.AppRef.Name, cloud.TagCluster: b.Spec.ClusterRef.Name,
		cloud.TagBackup: b.Name, cloud.TagClaim: s.Claim, cloud.TagScheduledTime: scheduledTime.UTC().Format(time.RFC3339),
		cloud.TagEngine: string(b.Status.Engine), cloud.TagVersion: b.Status.Version,
		cloud.TagOf: strconv.Itoa(len(b.Status.Snapshots)),
	}
	if s.VolumeUID != "" {
		tags[cloud.TagVolume] = s.VolumeUID // Of copies too, whose source is a snapshot.
	}
	if b.Status.Consistency != "" {
		tags[cloud.TagLevel] = string(b.Status.Consistency)
	}
	if b.Status.DeleteLockDays > 0 {
		tags[cloud.TagDeleteLock] = strconv.Itoa(int(b.Status.DeleteLockDays))
	}
	if b.Status.Position != "" {
		tags[cloud.TagPosition] = b.Status.Position
	}
	return tags
}

func intentOf(c *v1.CloudSnapshot) cloud.Intent {
	i := cloud.Intent{Attempt: int(c.Attempt)}
	if c.SentTime != nil {
		i.SentAt = c.SentTime.Time
	}
	return i
}

// recordResponse records the response to a request for a snapshot, or to a mere read.
func (w *work) recordResponse(c *v1.CloudSnapshot, state cloud.State, err error) {
	intent := intentOf(c)
	intent.Asking = c.SentTime != nil && c.SentTime.Time.Equal(w.now.Truncate(time.Microsecond))
	refused := intent.Asking && err != nil
	intent = intent.After(state, err)
	store(c, intent)
	if refused && intent.SentAt.IsZero() {
		c.Requests-- // Nothing was heard.
	}
}

func store(c *v1.CloudSnapshot, i cloud.Intent) {
	c.SentTime = nil
	if !i.SentAt.IsZero() {
		c.SentTime = &metav1.MicroTime{Time: i.SentAt.Truncate(time.Microsecond)}
	}
}
