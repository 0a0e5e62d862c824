package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
	"github.com/shopfleet/shopfleet/hub/schedule"
)

// dumpGrace is how long after its scheduled time a CronJob's Job is there, if it comes at all.
const dumpGrace = 2 * time.Minute

// heldAgain is when pruning that is held is tried again.
const heldAgain = time.Minute

// input is what a plan is decided from.
type input struct {
	app      *v1.EcommerceApp
	members  map[string]*v1.MemberCluster
	backups  []v1.Backup
	restores []v1.Restore
	now      time.Time
	// skews is how far the clocks of providers are ahead of the hub's, by CloudAccount.
	// Without an entry it is not known, which is worth telling once the hub has settled.
	skews   map[string]time.Duration
	settled bool
}

// Plan is what to do for an application now.
type Plan struct {
	Make []*v1.Backup
	// Missed says, by cluster, how many scheduled times the Backup in Make makes up for.
	Missed map[string]int
	// Delete are the Backups to delete together with their data, by name.
	Delete []schedule.RetentionDecision
	// Unmark are the Backups that retention marked for deletion and that are to be kept.
	Unmark []*v1.Backup
	// Verify are the Restores that prove backups, and Forget those that are done with.
	Verify, Forget []*v1.Restore
	// Clusters is how it stands with each cluster that is backed up from here.
	Clusters  []History
	Condition metav1.Condition
	// Invalid tells that nothing could be planned: what was known before holds on.
	Invalid bool
	// notes are for the condition too, though nothing stands in the way.
	notes []string
	// Again is when the next pass is due at the latest.
	Again time.Time
}

// Standing is how it stands with the backups of one cluster.
type History struct {
	Cluster string
	// LastGood is the point in time of the newest good backup; zero if there is none.
	LastGood time.Time
	// Since is when there was first something to back up.
	Since  time.Time
	MaxRPO time.Duration
	// LastScheduledTime is the newest scheduled time that was answered with a Backup, now or before.
	LastScheduledTime time.Time
	Next              time.Time
	// Version is what the database has there, and UpgradeTime when another was first
	// asked for; zero when none is.
	Version     string
	UpgradeTime time.Time
	// Completed counts the good Backups that there are, and Failed the others by reason.
	Completed int
	Failed    map[string]int
	// LastVerifyScheduledTime is the newest scheduled time of the verify schedule that was answered, and
	// LastVerified when a backup was last proven; zero if none was.
	LastVerifyScheduledTime, LastVerified time.Time
	// VerifyDeadline is when the next proof is late; zero where none is asked for.
	VerifyDeadline time.Time
	// VerifyFailed tells that the last backup that was tried could not be proven.
	VerifyFailed bool
}

// trouble is what stands in the way, for the condition.
type trouble struct{ reason, message string }

// decide returns the plan for an application whose backups are enabled.
func decide(in input) Plan {
	policy := in.app.Spec.Database.Backup
	when, err := schedule.Parse(policy.Schedule, policy.TimeZone)
	plan := Plan{Again: in.now.Add(lookAgain), Missed: map[string]int{}}
	if err != nil {
		plan.Invalid = true
		plan.Condition = metav1.Condition{
			Status: metav1.ConditionFalse, Reason: v1.ReasonInvalidSpec,
			Message: fmt.Sprintf("spec.database.backup: %v", err),
		}
		return plan
	}
	var all []trouble
	var unknown []string
	for _, entry := range in.app.Status.Clusters {
		member := in.members[entry.Name]
		if entry.Phase == v1.PhaseDeleting {
			continue
		}
		if member == nil {
			unknown = append(unknown, entry.Name)
			continue
		}
		method := methodIn(policy.Method, member)
		if method != v1.BackupDump {
			all = append(all, in.prune(&plan, entry.Name, in.by(v1.BackupDump, entry.Name))...)
		}
		if method == v1.BackupAuto {
			unknown = append(unknown, entry.Name)
			continue
		}
		// Where dumps are made, snapshots from before that was so are kept.
		all = append(all, in.cluster(&plan, when, memberFacts{entry.Name, method})...)
	}
	plan.Condition = plan.condition(all, unknown)
	return plan
}

// place is a cluster and how it is backed up.
type memberFacts struct {
	name   string
	method v1.BackupMethod
}

// methodIn returns how the databases of a member are backed up; Auto: that is not known yet.
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

// leastBetween is what a provider asks to leave between two backups.
func (in input) leastBetween(p memberFacts) time.Duration {
	if p.method == v1.BackupDump {
		return 0
	}
	return csi.CapabilitiesOf(in.members[p.name].Status.Provider).MinInterval
}

// cluster plans one cluster.
func (in input) cluster(plan *Plan, when schedule.Schedule, p memberFacts) []trouble {
	policy := in.app.Spec.Database.Backup
	interval, least := when.MinInterval(in.now), in.leastBetween(p)
	// A dump does not stand in for a snapshot, nor the other way round.
	mine := in.by(p.method, p.name)
	standing := in.history(p.name, mine)
	standing.MaxRPO = when.DefaultMaxRPO(in.now)
	if policy.MaxRPO != nil {
		standing.MaxRPO = policy.MaxRPO.Duration
	}
	var found []trouble
	if interval < least {
		found = append(found, trouble{v1.ReasonScheduleTooTight, fmt.Sprintf(
			"%s: spec.database.backup.schedule asks for snapshots every %s, and the provider takes one every %s", p.name, interval, least)})
	}
	last := in.lastScheduledTime(p.name, mine)
	standing.LastScheduledTime = last
	due := when.Due(last, in.now, in.offset(p, interval))
	if !due.ScheduledTime.IsZero() && !in.busy(mine) && (due.ScheduledTime.Sub(last) >= least || len(mine) == 0) {
		plan.Make = append(plan.Make, in.backupFor(p, due.ScheduledTime))
		if p.method != v1.BackupDump || in.known(p.name) {
			// Before it was planned from here, the CronJob missed none of them.
			plan.Missed[p.name] = due.Missed
		}
		standing.LastScheduledTime = due.ScheduledTime
	}
	standing.Next = due.NextAt
	if t := in.upgrade(plan, &standing, p.method); t.reason != "" {
		found = append(found, t)
	}
	plan.Again = earliest(plan.Again, due.NextAt)
	if t := in.verify(plan, &standing, mine); t.reason != "" {
		found = append(found, t)
	}
	found = append(found, in.prune(plan, p.name, mine)...)
	plan.Clusters = append(plan.Clusters, standing)
	if t, at := in.exposure(p.name, standing, mine); t.reason != "" {
		found = append(found, t)
	} else {
		plan.Again = earliest(plan.Again, at)
	}
	return found
}

// prune plans which Backups of a cluster go.
func (in input) prune(plan *Plan, cluster string, mine []*v1.Backup) []trouble {
	policy := schedule.PolicyOf(in.app.Spec.Database.Backup.Retention)
	pruned := schedule.Prune(in.now, in.inventory(mine), policy)
	plan.Delete = append(plan.Delete, pruned.Delete...)
	for _, b := range mine {
		going := slices.ContainsFunc(pruned.Delete, func(v schedule.RetentionDecision) bool { return v.Name == b.Name })
		if marked(b) && !going && b.DeletionTimestamp.IsZero() {
			plan.Unmark = append(plan.Unmark, b)
		}
	}
	if pruned.Held == "" {
		return nil
	}
	plan.Again = earliest(plan.Again, in.now.Add(heldAgain))
	if pruned.Blocked == "" && !in.settled {
		return nil // Accounts are verified at the start: the clock is about to be known.
	}
	return []trouble{{v1.ReasonPruningHeld, fmt.Sprintf("%s: old backups are not deleted: %s", cluster, pruned.Held)}}
}

// marked reports whether retention marked a Backup for deletion.
func marked(b *v1.Backup) bool { return b.Annotations[v1.PrunedAnnotation] != "" }

// offset is how long after its scheduled time a run begins. Dumps are begun by the CronJob, all at
// their scheduled time: the Backup comes when its Job should be there.
func (in input) offset(p memberFacts, interval time.Duration) time.Duration {
	if p.method == v1.BackupDump {
		return dumpGrace
	}
	return in.spread(p.name, interval)
}

// spread tells applications of the same schedule apart.
func (in input) spread(cluster string, interval time.Duration) time.Duration {
	return schedule.Offset(in.app.Namespace+"/"+in.app.Name+"/"+cluster, schedule.Window(interval))
}

// exposure tells whether the newest backup is too old, or else when it will be.
func (in input) exposure(name string, s History, mine []*v1.Backup) (trouble, time.Time) {
	from := s.LastGood
	if from.IsZero() {
		from = s.Since
	}
	breach := from.Add(s.MaxRPO + time.Second)
	if !schedule.RPO(s.LastGood, s.Since, in.now).AtRisk(s.MaxRPO) {
		return trouble{}, breach
	}
	why := ""
	if failed := newest(mine, v1.BackupFailed); failed != nil && failed.CreationTimestamp.After(s.LastGood) {
		why = "; the last one failed: " + failed.Status.Message
	}
	if s.LastGood.IsZero() {
		return trouble{v1.ReasonNoBackup, fmt.Sprintf("%s: there is no good backup%s", name, why)}, breach
	}
	return trouble{v1.ReasonBackupTooOld, fmt.Sprintf("%s: the newest good backup, %s, is older than %s%s",
		name, newest(mine, v1.BackupCompleted).Name, s.MaxRPO, why)}, breach
}

// condition returns BackupReady. It is True only when each cluster is known to have a good
// backup that is young enough.
func (p *Plan) condition(all []trouble, unknown []string) metav1.Condition {
	if len(p.Clusters) == 0 && len(all) == 0 {
		return metav1.Condition{
			Status: metav1.ConditionUnknown, Reason: v1.ReasonNotChecked,
			Message: "Of no cluster is it known yet how it is backed up",
		}
	}
	c := metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonBackupsRecent}
	messages := slices.Clone(p.notes)
	var without []string
	for _, s := range p.Clusters {
		if s.LastGood.IsZero() {
			without = append(without, s.Cluster)
		}
	}
	switch {
	case len(all) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, all[0].reason
		for _, t := range all {
			messages = append(messages, t.message)
			if t.reason == v1.ReasonNoBackup || t.reason == v1.ReasonBackupTooOld {
				c.Reason = t.reason
			}
		}
		c.Message = stepresult.Clip(joined(messages))
		return c
	case len(without) > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, v1.ReasonNoBackupYet
		c.Message = "There is no good backup yet in " + some(without)
	case len(unknown) > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, v1.ReasonNotChecked
		c.Message = "It is not known yet how backups are made in " + some(unknown)
	default:
		c.Message = "Each cluster has a good backup that is young enough"
	}
	if len(messages) > 0 {
		c.Message += "; " + joined(messages)
	}
	c.Message = stepresult.Clip(c.Message)
	return c
}

// some names the first clusters by their names, and counts the others.
func some(clusters []string) string {
	const most = 10
	slices.Sort(clusters)
	if len(clusters) <= most {
		return strings.Join(clusters, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(clusters[:most], ", "), len(clusters)-most)
}

// backupFor returns the Backup of a scheduled time.
func (in input) backupFor(p memberFacts, scheduledTime time.Time) *v1.Backup {
	b := &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.app.Namespace, Name: schedule.BackupName(in.app.Name, p.name, scheduledTime),
			Labels: map[string]string{
				v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: in.app.Name, v1.ClusterLabel: p.name,
			},
		},
		Spec: v1.BackupSpec{
			AppRef: v1.ObjectReference{Name: in.app.Name}, ClusterRef: v1.ObjectReference{Name: p.name}, Method: p.method, ScheduledTime: &metav1.Time{Time: scheduledTime},
			Deletion: v1.DeletionRetain,
		},
	}
	if p.method == v1.BackupSnapshot {
		b.Spec.CopyToRegions = in.app.Spec.Database.Backup.CopyToRegions
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if b.IsZero() || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}
