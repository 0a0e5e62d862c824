package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/retention"
	"github.com/shopfleet/shopfleet/hub/data/schedule"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// dumpGrace is how long to wait after the scheduled time for the CronJob's Job.
const dumpGrace = 2 * time.Minute

// deletionRetry is when to retry a deletion that is blocked now.
const deletionRetry = time.Minute

// input holds the facts that a Decision is made from.
type input struct {
	// app is nil once the application is gone.
	app *v1.EcommerceApp
	// hub is the UID of the hub.
	hub     string
	members map[string]*v1.MemberCluster
	// withCopies are the members in the regions of copies, if backups are verified.
	withCopies []*v1.MemberCluster
	// compared is true for the clusters that have nothing of the application that the hub does
	// not know.
	compared map[string]bool
	// copied are the servers of the databases of copies, by cluster.
	copied   map[string]v1.CopiedServer
	backups  []v1.Backup
	restores []v1.Restore
	now      time.Time
	// skews is how far the clocks of providers are ahead of the hub's, by CloudAccount. A
	// missing entry means unknown, which is reported once pastStart is true.
	skews map[string]time.Duration
	// pastStart is true once the hub has run for startGrace.
	pastStart bool
	// accounts are those that have backups, as far as they exist.
	accounts map[string]*v1.CloudAccount
	// buckets is true for the clusters whose CloudAccount has a bucket.
	buckets map[string]bool
	// safeMode is true if nothing is to be created or deleted.
	safeMode bool
	// waits changes how long dumps and pruning are waited for.
	waits retry.Waits
}

// Decision holds the actions that are due for an application.
type Decision struct {
	Create []*v1.Backup
	// Missed is the number of missed scheduled times by cluster, for the Backups in Create.
	Missed map[string]int
	// Delete are the Backups to delete together with their data, by name.
	Delete []retention.Decision
	// Keep are the Backups that were marked for deletion and are to be kept.
	Keep []*v1.Backup
	// Verify are the Restores to create for verification, and DeleteVerify the old ones to
	// delete.
	Verify, DeleteVerify []*v1.Restore
	// Clusters is the history of each cluster that the hub backs up.
	Clusters  []History
	Condition metav1.Condition
	// Invalid is true if no Decision could be made: the previous status is kept.
	Invalid bool
	// notes are added to the message of the condition and do not affect its status, and pending
	// are why it is not True yet. The message ends with the clusters whose snapshots cannot be restored there.
	notes, pending, withoutRestores []string
	// RequeueAt is when the next pass is due at the latest.
	RequeueAt time.Time
}

// History summarizes the backups of one cluster.
type History struct {
	Cluster string
	// LastGood is the snapshot time of the newest successful backup; zero if there is
	// none.
	LastGood time.Time
	// Since is when there was first something to back up.
	Since  time.Time
	MaxRPO time.Duration
	// LastScheduledTime is the newest scheduled time for which a Backup was created.
	LastScheduledTime time.Time
	Next              time.Time
	// Server is the current server of the database, and UpgradeTime when an upgrade was
	// first requested; zero if none is.
	Server      v1.DatabaseServer
	UpgradeTime time.Time
	// Completed counts the Backups that are wherever they should be, Partial those that can be
	// restored where they are, and Failed the others by reason.
	Completed, Partial int
	Failed             map[string]int
	// Offsite says since when there is no newer backup in the places that backups should also be in.
	Offsite []offsite
	// LastVerifyScheduledTime is the newest handled scheduled time of the verify schedule,
	// and LastVerified the time of the last successful verification; zero if there was
	// none.
	LastVerifyScheduledTime, LastVerified time.Time
	// VerifyDeadline is when the next verification is overdue; zero if none is scheduled.
	VerifyDeadline time.Time
	// VerifyFailed is true if the last verification failed.
	VerifyFailed bool
}

// problem is a reason and message for the condition.
type problem struct{ reason, message string }

// decide returns the Decision for an application whose backups are enabled.
func decide(in input) Decision {
	policy := in.app.Spec.Database.Backup
	when, err := schedule.Parse(string(policy.Schedule), string(policy.TimeZone))
	decision := Decision{RequeueAt: in.now.Add(maxInterval), Missed: map[string]int{}}
	if err != nil {
		decision.Invalid = true
		decision.Condition = metav1.Condition{
			Status: metav1.ConditionFalse, Reason: v1.ReasonInvalidSpec,
			Message: fmt.Sprintf("spec.database.backup: %v", err),
		}
		return decision
	}
	var all []problem
	var unknown []string
	for _, entry := range in.app.Status.Clusters {
		member := in.members[entry.Name]
		if entry.Phase == v1.PhaseDeleting {
			continue
		}
		if entry.DatabaseLost {
			all = append(all, problem{v1.ReasonDatabaseLost, entry.Name + ": the database is lost, and no backup is made or deleted until one is restored: " +
				"kubectl shopfleet restore BACKUP -n " + in.app.Namespace + " --overwrite"})
		}
		if member == nil {
			unknown = append(unknown, entry.Name)
			continue
		}
		method := methodIn(policy.Method, member)
		if method != v1.BackupDump {
			all = append(all, in.prune(&decision, clusterMethod{entry.Name, v1.BackupDump}, in.by(v1.BackupDump, entry.Name))...)
		}
		if method == v1.BackupAuto {
			unknown = append(unknown, entry.Name)
			continue
		}
		// If dumps are made, older snapshots are kept.
		all = append(all, in.cluster(&decision, when, clusterMethod{entry.Name, method})...)
	}
	in.pruneEnded(&decision)
	all = append(all, in.takenOver()...)
	if newer := in.newerIn(); newer != "" {
		all = append(all, problem{v1.ReasonPruningHeld, "old backups are not deleted: " + newer + " has a newer copy or a recorded deletion"})
	}
	decision.Condition = decision.condition(all, unknown)
	return decision
}

// clusterMethod is a cluster and its backup method.
type clusterMethod struct {
	name   string
	method v1.BackupMethod
}

// methodIn returns the backup method of a member; Auto if it is not known yet.
func methodIn(method v1.BackupMethod, member *v1.MemberCluster) v1.BackupMethod {
	switch {
	case csi.BySnapshots(method, member):
		return v1.BackupSnapshot
	case method != v1.BackupDump && member.Spec.CloudAccountRef != nil && member.Status.Provider == "":
		return v1.BackupAuto
	default:
		return v1.BackupDump
	}
}

// minInterval returns the minimum time between two backups that a provider requires.
func (in input) minInterval(c clusterMethod) time.Duration {
	if c.method == v1.BackupDump {
		return 0
	}
	return csi.CapabilitiesOf(in.members[c.name].Status.Provider).MinInterval
}

// cluster adds to the Decision what is due in one cluster, its history included, and returns what
// is wrong there.
func (in input) cluster(decision *Decision, when schedule.Schedule, c clusterMethod) []problem {
	policy := in.app.Spec.Database.Backup
	interval, least := when.MinInterval(in.now), in.minInterval(c)
	// Dumps and snapshots do not replace each other.
	mine := in.by(c.method, c.name)
	history := in.history(c.name, mine)
	history.MaxRPO = when.DefaultMaxRPO(in.now)
	if policy.MaxRPO != nil {
		history.MaxRPO = policy.MaxRPO.Duration
	}
	var found []problem
	if interval < least {
		found = append(found, problem{v1.ReasonScheduleTooTight, fmt.Sprintf(
			"%s: spec.database.backup.schedule requests snapshots every %s, but the provider allows one every %s", c.name, interval, least)})
	}
	last := in.lastScheduledTime(c.name, mine)
	history.LastScheduledTime = last
	due := when.Due(last, in.now, in.offset(c, interval))
	if !due.ScheduledTime.IsZero() && !in.busy(c.name, mine) && (due.ScheduledTime.Sub(last) >= least || len(mine) == 0) {
		decision.Create = append(decision.Create, in.backupFor(c, due.ScheduledTime))
		if c.method != v1.BackupDump || in.known(c.name) {
			// Before the hub scheduled the backups, the CronJob did.
			decision.Missed[c.name] = due.Missed
		}
		history.LastScheduledTime = due.ScheduledTime
	}
	history.Next = due.NextAt
	if p := in.upgrade(decision, &history, c.method); p.reason != "" {
		found = append(found, p)
	}
	decision.RequeueAt = earliest(decision.RequeueAt, due.NextAt)
	if p := in.verify(decision, &history, mine); p.reason != "" {
		found = append(found, p)
	}
	found = append(found, in.prune(decision, c, mine)...)
	found = append(found, in.offsite(decision, &history, c, mine)...)
	if c.method == v1.BackupSnapshot && !csi.HasSnapshots(in.members[c.name]) {
		decision.withoutRestores = append(decision.withoutRestores, c.name)
	}
	if p := missing(c.name, mine); p.reason != "" {
		found = append(found, p)
	}
	decision.Clusters = append(decision.Clusters, history)
	if p, at := in.exposure(c.name, history, mine); p.reason != "" {
		found = append(found, p)
	} else {
		decision.RequeueAt = earliest(decision.RequeueAt, at)
	}
	return found
}

// offset returns the delay of a run after its scheduled time. The CronJobs start dumps at
// their scheduled time: the Backup is created when its Job should exist.
func (in input) offset(c clusterMethod, interval time.Duration) time.Duration {
	if c.method == v1.BackupDump {
		return in.waits.Scaled(dumpGrace)
	}
	return in.spread(c.name, interval)
}

// spread returns a deterministic delay that spreads applications with the same schedule.
func (in input) spread(cluster string, interval time.Duration) time.Duration {
	return schedule.Offset(in.app.Namespace+"/"+in.app.Name+"/"+cluster, schedule.Window(interval))
}

// exposure returns a problem if the newest backup is too old, and otherwise the time at
// which it will be.
func (in input) exposure(name string, h History, mine []*v1.Backup) (problem, time.Time) {
	from := h.LastGood
	if from.IsZero() {
		from = h.Since
	}
	breach := from.Add(h.MaxRPO + time.Second)
	if !retention.RPO(h.LastGood, h.Since, in.now).AtRisk(h.MaxRPO) {
		return problem{}, breach
	}
	cause := ""
	if failed := newestFailed(mine); failed != nil && failed.CreationTimestamp.After(h.LastGood) {
		cause = "; the last one failed: " + failed.Status.Message
	}
	if h.LastGood.IsZero() {
		return problem{v1.ReasonNoBackup, fmt.Sprintf("%s: there is no successful backup%s", name, cause)}, breach
	}
	return problem{v1.ReasonBackupTooOld, fmt.Sprintf("%s: the newest successful backup, %s, is older than %s%s",
		name, newestGood(mine).Name, h.MaxRPO, cause)}, breach
}

// condition returns BackupReady. It is True only if each cluster has a sufficiently
// recent successful backup.
func (d *Decision) condition(all []problem, unknown []string) metav1.Condition {
	if len(d.Clusters) == 0 && len(all) == 0 {
		return metav1.Condition{
			Status: metav1.ConditionUnknown, Reason: v1.ReasonNotChecked,
			Message: "The backup method is not known yet for any cluster",
		}
	}
	c := metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonBackupsRecent}
	messages := slices.Clone(d.notes)
	var without []string
	for _, h := range d.Clusters {
		if h.LastGood.IsZero() {
			without = append(without, h.Cluster)
		}
	}
	switch {
	case len(all) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, all[0].reason
		for _, p := range all {
			messages = append(messages, p.message)
			if weight(p.reason) > weight(c.Reason) {
				c.Reason = p.reason
			}
		}
		c.Message = d.excerpt(joinSorted(append(messages, d.pending...)))
		return c
	case len(without) > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, v1.ReasonNoBackupYet
		c.Message = "There is no successful backup yet in " + nameSome(without)
	case len(d.pending) > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, v1.ReasonNotOffsite
		c.Message = joinSorted(slices.Clone(d.pending))
	case len(unknown) > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, v1.ReasonNotChecked
		c.Message = "The backup method is not known yet in " + nameSome(unknown)
	default:
		c.Message = "Each cluster has a recent successful backup"
	}
	if len(messages) > 0 {
		c.Message += "; " + joinSorted(messages)
	}
	c.Message = d.excerpt(c.Message)
	return c
}

// excerpt bounds a message, and says at its end what a restore of snapshots needs where that is missing.
func (d *Decision) excerpt(message string) string {
	if len(d.withoutRestores) == 0 {
		return v1.Excerpt(message, steps.MaxMessage)
	}
	needed := ". Snapshots cannot be restored in " + nameSome(d.withoutRestores) + ": " + csi.InstallSnapshots
	return v1.Excerpt(message, steps.MaxMessage-len(needed)) + needed
}

// weight orders the reasons of problems: the heaviest is the reason of the condition.
func weight(reason string) int {
	return slices.Index([]string{
		v1.ReasonNotOffsite, v1.ReasonSnapshotMissing, v1.ReasonBackupTooOld, v1.ReasonNoBackup, v1.ReasonDatabaseLost,
	}, reason)
}

// nameSome lists the first ten clusters in sorted order, and the number of others.
func nameSome(clusters []string) string {
	const most = 10
	slices.Sort(clusters)
	if len(clusters) <= most {
		return strings.Join(clusters, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(clusters[:most], ", "), len(clusters)-most)
}

// backupFor returns the Backup for a scheduled time.
func (in input) backupFor(c clusterMethod, scheduledTime time.Time) *v1.Backup {
	b := &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.app.Namespace, Name: schedule.BackupName(in.app.Name, c.name, scheduledTime),
			Labels: map[string]string{
				v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: in.app.Name, v1.ClusterLabel: c.name,
			},
		},
		Spec: v1.BackupSpec{
			AppRef: v1.ObjectReference{Name: in.app.Name}, ClusterRef: v1.ObjectReference{Name: c.name}, Method: c.method, ScheduledTime: &metav1.Time{Time: scheduledTime},
			Deletion: v1.DeletionRetain,
		},
	}
	if c.method == v1.BackupSnapshot {
		b.Spec.CopyToRegions = in.copyable(c)
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if b.IsZero() || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}
