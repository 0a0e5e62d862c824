package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/hub/data/retention"
	"github.com/shopfleet/shopfleet/hub/data/schedule"
)

// Loss is the answer to: what is lost if this region goes in a minute?
type Loss struct {
	Notices []Notice
	// AppsKnown is set if the EcommerceApps are known.
	AppsKnown bool
	Regions   []RegionLoss
	// Region is the one whose databases are listed; empty for all.
	Region string
	Rows   []DatabaseLoss
	// Total counts the databases that match. Page counts from 0.
	Total, Page, Pages int
	Query              Query
}

// RegionLoss sums up what is lost with one region.
type RegionLoss struct {
	Name string
	// Databases counts the databases in the region, Everything those without a backup that is known to be in another
	// region, and Unknown those whose backups are not known.
	Databases, Everything, Unknown int
	// Worst is the age of the oldest backup that a database would be restored from; empty without any.
	Worst string
	worst time.Duration
}

// DatabaseLoss describes the loss of one database with its region.
type DatabaseLoss struct {
	App, Cluster, Region string
	// Lost says what is lost, and Everything is set if no backup is known to be in another region. Unknown is set if Backups
	// are not known; nothing else is said of it then.
	Lost                string
	Everything, Unknown bool
	// AtBest says what is lost if a newer backup turns out to be in another region; empty without one.
	AtBest string
	// Newest and Verified are the ages of the newest backup that can be restored, and of the newest verification;
	// empty without one.
	Newest, Verified string
	// Partly is set if the newest backup that can be restored is PartiallyCompleted, and From says where the newest
	// verification ran.
	Partly bool
	From   string
	// Copies are the places of the newest backup outside of the region.
	Copies string
	// Used is the part of MaxRPO in percent that the newest backup has used up, at most 100; AtRisk is set beyond that.
	Used   int
	MaxRPO string
	AtRisk bool
	// Lag says how far the replicas in the same cluster are behind.
	Lag string
	// Targets are clusters that it could be restored to.
	Targets string
	lost    time.Duration
	// from is the backup that it would be restored from: one that is elsewhere, else one that may be.
	from *v1.Backup
}

// backupsOf are the backups of one database.
type backupsOf struct {
	// newest can be restored, offsite too when the region of its cluster is gone, and perhaps also uncertain, which is in a
	// bucket whose region is not known.
	newest, offsite, uncertain *v1.Backup
	verified                   *v1.Backup
}

// lossFinder computes losses.
type lossFinder struct {
	s        *hubstate.Snapshot
	now      time.Time
	backups  map[[3]string]*backupsOf
	accounts map[string]*v1.CloudAccount
	// defaults has the default of maxRPO by schedule and time zone.
	defaults map[[2]string]time.Duration
}

// LossOf returns what is lost with each region, and the databases of one region or of all.
func LossOf(s *hubstate.Snapshot, now time.Time, q Query) Loss {
	f := &lossFinder{s: s, now: now, backups: map[[3]string]*backupsOf{}, accounts: map[string]*v1.CloudAccount{}, defaults: map[[2]string]time.Duration{}}
	for i := range s.Accounts {
		f.accounts[s.Accounts[i].Name] = &s.Accounts[i]
	}
	f.index()
	l := Loss{
		Notices:   NoticesOf(s, now, hubstate.Apps, hubstate.Backups, hubstate.Members, hubstate.Accounts),
		AppsKnown: s.Knows(hubstate.Apps), Region: q.Region, Query: q,
	}
	sums := map[string]*RegionLoss{}
	var rows []DatabaseLoss
	for i := range s.Apps {
		app := &s.Apps[i]
		if app.Spec.Database == nil {
			continue
		}
		for j := range app.Status.Clusters {
			row := f.row(app, &app.Status.Clusters[j])
			if sums[row.Region] == nil {
				sums[row.Region] = &RegionLoss{Name: row.Region}
			}
			sums[row.Region].add(row)
			if (q.Region == "" || q.Region == row.Region) && q.matches(row.App) {
				rows = append(rows, row)
			}
		}
	}
	for _, sum := range sums {
		if sum.worst > 0 {
			sum.Worst = duration.HumanDuration(sum.worst)
		}
		l.Regions = append(l.Regions, *sum)
	}
	slices.SortFunc(l.Regions, func(a, b RegionLoss) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(rows, func(a, b DatabaseLoss) int { return cmp.Compare(b.rank(), a.rank()) })
	l.Total = len(rows)
	l.Rows, l.Page, l.Pages = window(rows, q)
	for i := range l.Rows {
		if row := &l.Rows[i]; row.from != nil {
			row.Copies, row.Targets = listed(f.elsewhere(row.from)), f.targets(row.from, row.Region)
		}
	}
	return l
}

// rank orders databases by what is lost.
func (d DatabaseLoss) rank() time.Duration {
	if d.Everything {
		return 1<<63 - 1
	}
	return d.lost
}

func (r *RegionLoss) add(row DatabaseLoss) {
	r.Databases++
	switch {
	case row.Unknown:
		r.Unknown++
	case row.Everything:
		r.Everything++
	default:
		r.worst = max(r.worst, row.lost)
	}
}

// index finds the newest backups of each database.
func (f *lossFinder) index() {
	for i := range f.s.Backups {
		b := &f.s.Backups[i]
		key := [3]string{b.Namespace, b.Spec.AppRef.Name, b.Spec.ClusterRef.Name}
		if f.backups[key] == nil {
			f.backups[key] = &backupsOf{}
		}
		of := f.backups[key]
		if at := b.Status.LastVerifiedTime; at != nil && (of.verified == nil || of.verified.Status.LastVerifiedTime.Before(at)) {
			of.verified = b
		}
		if !isUsable(b) {
			continue
		}
		of.newest = newer(of.newest, b)
		if bucket, region := f.bucketOf(b); bucket != "" && region == "" {
			of.uncertain = newer(of.uncertain, b)
		}
		if len(f.elsewhere(b)) > 0 {
			of.offsite = newer(of.offsite, b)
		}
	}
}

// isUsable reports whether a backup can be restored today, as it says itself. One that is being deleted cannot.
func isUsable(b *v1.Backup) bool {
	missing := b.IsMissing() && len(csi.RegionsOf(b)) == 0
	return b.DeletionTimestamp.IsZero() && b.Status.Phase.IsSuccessful() && !missing && b.Status.SnapshotTime != nil
}

// newer returns the backup of the later time; a may be nil.
func newer(a, b *v1.Backup) *v1.Backup {
	if a == nil || a.Status.SnapshotTime.Before(b.Status.SnapshotTime) {
		return b
	}
	return a
}

// elsewhere returns the places of a whole backup that are known to be outside of the region of its cluster.
func (f *lossFinder) elsewhere(b *v1.Backup) []string {
	var places []string
	for _, region := range csi.RegionsOf(b) {
		if region != b.Status.Region {
			places = append(places, region)
		}
	}
	if bucket, region := f.bucketOf(b); region != "" && region != b.Status.Region {
		places = append(places, "bucket "+bucket+" in "+region)
	}
	return places
}

// bucketOf returns the bucket that has the dump of a backup, and its region. The bucket is empty if none has it. The region
// is empty if it is not known: objectStorage has one on AWS only, and the user may not be allowed to read the account.
func (f *lossFinder) bucketOf(b *v1.Backup) (bucket, region string) {
	d := b.Status.Dump
	if d == nil || d.Object == nil || d.Object.State != v1.DumpSent {
		return "", ""
	}
	if account := f.accounts[b.Status.Account]; account != nil && account.Spec.ObjectStorage != nil {
		region = account.Spec.ObjectStorage.Region
	}
	return d.Object.Bucket, region
}

// row returns what is lost of a database with the region of its cluster.
func (f *lossFinder) row(app *v1.EcommerceApp, c *v1.ClusterStatus) DatabaseLoss {
	of := f.backups[[3]string{app.Namespace, app.Name, c.Name}]
	if of == nil {
		of = &backupsOf{}
	}
	row := DatabaseLoss{App: nameOf(app), Cluster: c.Name, Region: regionOf(c.Region), Lost: "everything", Everything: true, from: cmp.Or(of.offsite, of.uncertain)}
	if lag := c.ReplicationLagSeconds; lag != nil {
		row.Lag = fmt.Sprintf("%ds", *lag)
	}
	if !f.s.Knows(hubstate.Backups) {
		row.Lost, row.Everything, row.Unknown = notKnown, false, true
		return row
	}
	if of.offsite != nil {
		row.Everything, row.lost = false, max(0, f.now.Sub(of.offsite.Status.SnapshotTime.Time))
		row.Lost = "the last " + duration.HumanDuration(row.lost)
	}
	if b := of.uncertain; b != nil && b != of.offsite && newer(of.offsite, b) == b {
		row.AtBest = fmt.Sprintf("at best the last %s: the region of bucket %s is not known", ageOf(f.now, b.Status.SnapshotTime.Time), b.Status.Dump.Object.Bucket)
	}
	if b := of.verified; b != nil {
		row.Verified, row.From = ageOf(f.now, b.Status.LastVerifiedTime.Time), verifiedFrom(b.Status.Verified)
	}
	var last time.Time
	if of.newest != nil {
		last = of.newest.Status.SnapshotTime.Time
		row.Newest, row.Partly = ageOf(f.now, last), of.newest.Status.Phase == v1.BackupPartiallyCompleted
	}
	if maxRPO := f.maxRPO(app); maxRPO > 0 {
		exposure := retention.RPO(last, app.CreationTimestamp.Time, f.now)
		row.MaxRPO, row.AtRisk = duration.HumanDuration(maxRPO), exposure.AtRisk(maxRPO)
		row.Used = int(min(100, 100*exposure.Age/maxRPO))
	}
	return row
}

// verifiedFrom returns the region and the member of a verification; empty if they are not known.
func verifiedFrom(v *v1.Verified) string {
	switch {
	case v == nil || v.From.Cluster == "":
		return ""
	case v.From.Region == "":
		return "in " + v.From.Cluster
	}
	return fmt.Sprintf("from %s in %s", v.From.Region, v.From.Cluster)
}

// maxRPO returns how old the newest backup of an application may be, or 0 if it has no backups.
func (f *lossFinder) maxRPO(app *v1.EcommerceApp) time.Duration {
	policy := app.Spec.Database.Backup
	if !policy.Enabled {
		return 0
	}
	if policy.MaxRPO != nil {
		return policy.MaxRPO.Duration
	}
	key := [2]string{string(policy.Schedule), string(policy.TimeZone)}
	known, found := f.defaults[key]
	if !found {
		if when, err := schedule.Parse(key[0], key[1]); err == nil { // Else the application says that its spec is invalid.
			known = when.DefaultMaxRPO(f.now)
		}
		f.defaults[key] = known
	}
	return known
}

// targets returns ready clusters outside of a region that a backup could be restored to, by the rules of a Restore. A dump in
// a bucket can be loaded anywhere.
func (f *lossFinder) targets(b *v1.Backup, region string) string {
	if !f.s.Knows(hubstate.Members) {
		return notKnown
	}
	var names []string
	for i := range f.s.Members {
		m := &f.s.Members[i]
		if memberRegion(m) == region || !meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionReady) {
			continue
		}
		if b.Spec.Method == v1.BackupDump || takesSnapshots(b, m) {
			names = append(names, m.Name)
		}
	}
	return listed(names)
}

// takesSnapshots reports whether volumes can be made of all snapshots of a backup in a member.
func takesSnapshots(b *v1.Backup, m *v1.MemberCluster) bool {
	lacks := func(s v1.VolumeSnapshot) bool {
		id, missing := csi.SnapshotIn(m.Status.Region, &b.Status, &s)
		return id == "" || missing
	}
	return csi.ClusterObstacle(b, m).Reason == "" && len(b.Status.Snapshots) > 0 && !slices.ContainsFunc(b.Status.Snapshots, lacks)
}
