package view

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
)

// known returns a snapshot of which all kinds were read.
func known(s hubstate.Snapshot) *hubstate.Snapshot {
	for _, kind := range hubstate.Kinds() {
		s.Sources = append(s.Sources, hubstate.Source{Kind: kind, Read: true})
	}
	s.Hub.Lease = hubstate.Lease{Source: hubstate.Source{Read: true}, Renewed: now(), Until: now().Add(time.Minute)}
	return &s
}

func now() time.Time { return time.Date(2026, time.November, 29, 3, 0, 0, 0, time.UTC) }

// snapshots returns the snapshot of a volume in regions, the first of which is its own.
func snapshots(state cloud.State, regions ...string) v1.VolumeSnapshot {
	s := v1.VolumeSnapshot{CloudSnapshot: v1.CloudSnapshot{Region: regions[0], ID: "snap", State: string(cloud.StateReady)}}
	for _, region := range regions[1:] {
		s.Copies = append(s.Copies, v1.CloudSnapshot{Region: region, ID: "copy", State: string(state)})
	}
	return s
}

// TestLoss: a backup survives its region if each volume has a ready copy elsewhere, or its dump is in a bucket elsewhere.
func TestLoss(t *testing.T) {
	bucket := &v1.DumpFile{Object: &v1.DumpObject{Bucket: "dumps", State: v1.DumpSent}}
	for name, tt := range map[string]struct {
		change func(*v1.BackupStatus)
		lost   string
		copies string
		atBest string
	}{
		"a copy elsewhere":    {func(s *v1.BackupStatus) { s.Snapshots = []v1.VolumeSnapshot{snapshots(cloud.StateReady, "eu", "us")} }, "the last 5h", "us", ""},
		"none":                {func(s *v1.BackupStatus) { s.Snapshots = []v1.VolumeSnapshot{snapshots(cloud.StateReady, "eu")} }, "everything", "", ""},
		"a copy that is made": {func(s *v1.BackupStatus) { s.Snapshots = []v1.VolumeSnapshot{snapshots(cloud.StateTaken, "eu", "us")} }, "everything", "", ""},
		"a copy of one of two": {func(s *v1.BackupStatus) {
			s.Snapshots = []v1.VolumeSnapshot{snapshots(cloud.StateReady, "eu", "us"), snapshots(cloud.StateReady, "eu")}
		}, "everything", "", ""},
		"a dump in a bucket":    {func(s *v1.BackupStatus) { s.Dump, s.Account = bucket, "far" }, "the last 5h", "bucket dumps in us", ""},
		"one in its own region": {func(s *v1.BackupStatus) { s.Dump, s.Account = bucket, "near" }, "everything", "", ""},
		"one in a bucket of a cloud": {func(s *v1.BackupStatus) { s.Dump, s.Account = bucket, "cloud" }, "everything", "",
			"at best the last 5h: the region of bucket dumps is not known"},
		"one of an account that cannot be read": {func(s *v1.BackupStatus) { s.Dump, s.Account = bucket, "secret" }, "everything", "",
			"at best the last 5h: the region of bucket dumps is not known"},
		"one, and a copy elsewhere": {func(s *v1.BackupStatus) {
			s.Dump, s.Account, s.Snapshots = bucket, "cloud", []v1.VolumeSnapshot{snapshots(cloud.StateReady, "eu", "us")}
		}, "the last 5h", "us", ""},
		"one on its way": {func(s *v1.BackupStatus) {
			s.Dump, s.Account = &v1.DumpFile{Object: &v1.DumpObject{Bucket: "dumps", State: v1.DumpSending}}, "far"
		}, "everything", "", ""},
		"one that failed": {func(s *v1.BackupStatus) {
			s.Phase, s.Snapshots = v1.BackupFailed, []v1.VolumeSnapshot{snapshots(cloud.StateReady, "eu", "us")}
		}, "everything", "", ""},
		"one whose copy is left":       {missing(cloud.StateReady), "the last 5h", "us", ""},
		"one of which nothing is left": {missing(v1.SnapshotMissing), "everything", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			taken := metav1.NewTime(now().Add(-5 * time.Hour))
			b := apitest.Backup("b").Of("shop", "eu-1").Obj()
			b.Status = v1.BackupStatus{Phase: v1.BackupCompleted, Region: "eu", SnapshotTime: &taken}
			tt.change(&b.Status)
			app := apitest.App("shop").Database(v1.EnginePostgreSQL, "16.4", "1Gi").Obj()
			app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Region: "eu"}}
			s := known(hubstate.Snapshot{Apps: []v1.EcommerceApp{*app}, Backups: []v1.Backup{*b}})
			for account, region := range map[string]string{"near": "eu", "far": "us", "cloud": ""} {
				a := apitest.CloudAccount(account).Obj()
				a.Spec.ObjectStorage = &v1.ObjectStorage{Bucket: "dumps", Region: region}
				s.Accounts = append(s.Accounts, *a)
			}
			row := LossOf(s, now(), Query{}).Rows[0]
			if row.Lost != tt.lost || row.Copies != tt.copies || row.Everything != (tt.lost == "everything") {
				t.Errorf("lost %q (everything: %t), copies %q; want %q, %q", row.Lost, row.Everything, row.Copies, tt.lost, tt.copies)
			}
			if row.AtBest != tt.atBest {
				t.Errorf("at best %q, want %q", row.AtBest, tt.atBest)
			}
		})
	}
}

// missing returns a change to a backup that the cloud does not have any more in its region, with a copy in a state.
func missing(copied cloud.State) func(*v1.BackupStatus) {
	return func(s *v1.BackupStatus) {
		s.Snapshots = []v1.VolumeSnapshot{snapshots(copied, "eu", "us")}
		s.Snapshots[0].State = v1.SnapshotMissing
		s.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse}}
	}
}

// TestRestorable: what could be restored, and where, is what the hub and a Restore say.
func TestRestorable(t *testing.T) {
	located := func(b *v1.Backup) {
		b.Spec.CopyToRegions, b.Status.Provider = []string{"us"}, v1.ProviderGCP
		b.Status.Snapshots = []v1.VolumeSnapshot{snapshots(cloud.StateReady, "eu")}
	}
	copied := func(b *v1.Backup) {
		b.Status.Provider, b.Status.Snapshots = v1.ProviderAWS, []v1.VolumeSnapshot{snapshots(cloud.StateReady, "eu", "us")}
	}
	for name, tt := range map[string]struct {
		change                func(*v1.Backup)
		lost, copies, targets string
	}{
		"a copy, in its region":         {copied, "the last 5h", "us", "aws-us"},
		"in one place, for all regions": {located, "the last 5h", "us", "gcp-asia, gcp-us"},
		"in its own place": {func(b *v1.Backup) {
			located(b)
			b.Spec.CopyToRegions = nil
		}, "everything", "", ""},
		"of an account of no cluster": {func(b *v1.Backup) {
			copied(b)
			b.Status.Account = "former"
		}, "the last 5h", "us", ""},
		"a dump, for all providers": {func(b *v1.Backup) {
			b.Spec.Method, b.Status.Account = v1.BackupDump, "far"
			b.Status.Dump = &v1.DumpFile{Object: &v1.DumpObject{Bucket: "dumps", State: v1.DumpSent}}
		}, "the last 5h", "bucket dumps in us", "aws-us, gcp-asia, gcp-us, other"},
		"being deleted": {func(b *v1.Backup) {
			copied(b)
			b.DeletionTimestamp = &metav1.Time{Time: now()}
		}, "everything", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := apitest.Backup("b").Of("shop", "eu-1").Obj()
			b.Status = v1.BackupStatus{Phase: v1.BackupCompleted, Region: "eu", Account: "main", SnapshotTime: &metav1.Time{Time: now().Add(-5 * time.Hour)}}
			tt.change(b)
			app := apitest.App("shop").Database(v1.EnginePostgreSQL, "16.4", "1Gi").Obj()
			app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Region: "eu"}}
			account := apitest.CloudAccount("far").Obj()
			account.Spec.ObjectStorage = &v1.ObjectStorage{Bucket: "dumps", Region: "us"}
			s := known(hubstate.Snapshot{Apps: []v1.EcommerceApp{*app}, Backups: []v1.Backup{*b}, Accounts: []v1.CloudAccount{*account}, Members: []v1.MemberCluster{
				target("aws-us", "us", v1.ProviderAWS, "main"), target("gcp-asia", "asia", v1.ProviderGCP, "main"),
				target("gcp-eu", "eu", v1.ProviderGCP, "main"), target("gcp-us", "us", v1.ProviderGCP, "main"), target("other", "us", v1.ProviderAWS, ""),
			}})
			if row := LossOf(s, now(), Query{}).Rows[0]; row.Lost != tt.lost || row.Copies != tt.copies || row.Targets != tt.targets {
				t.Errorf("lost %q, copies %q, targets %q; want %q, %q, %q", row.Lost, row.Copies, row.Targets, tt.lost, tt.copies, tt.targets)
			}
		})
	}
}

// target returns a ready member with an account, if that is named.
func target(name, region string, provider v1.Provider, account string) v1.MemberCluster {
	m := apitest.MemberCluster(name).Condition(metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonConnected}).Obj()
	m.Status.Region, m.Status.Provider, m.Spec.CloudAccountRef = region, provider, nil
	if account != "" {
		m.Spec.CloudAccountRef = &v1.ObjectReference{Name: account}
	}
	return *m
}

// connected returns a member of the region eu.
func connected(name string, status metav1.ConditionStatus) v1.MemberCluster {
	m := apitest.MemberCluster(name).Condition(metav1.Condition{Type: v1.ConditionConnected, Status: status, Reason: v1.ReasonProbeFailed}).Obj()
	m.Status.Region = "eu"
	return *m
}

// TestLostRegion: a region is lost if none of its clusters answers. Else each that does not is a problem of its own.
func TestLostRegion(t *testing.T) {
	for name, tt := range map[string]struct {
		members []v1.MemberCluster
		want    []string
	}{
		"all answer": {[]v1.MemberCluster{connected("a", "True"), connected("b", "True")}, nil},
		"one does":   {[]v1.MemberCluster{connected("a", "True"), connected("b", "False")}, []string{"A cluster does not answer"}},
		"none does":  {[]v1.MemberCluster{connected("a", "False"), connected("b", "False")}, []string{"Region eu is lost"}},
		"not known":  {[]v1.MemberCluster{connected("a", "Unknown")}, []string{"A cluster does not answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			var titles []string
			for _, need := range NeedsOf(&hubstate.Snapshot{Members: tt.members}, now()).Urgent {
				titles = append(titles, need.Title)
			}
			if diff := cmp.Diff(tt.want, titles); diff != "" {
				t.Errorf("titles (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotReady: the reason why a cluster is not ready is worse than what else is wrong with it.
func TestNotReady(t *testing.T) {
	m := apitest.MemberCluster("a").
		Condition(metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonSetupFailed}).
		Condition(metav1.Condition{Type: v1.ConditionDefinitionsCurrent, Status: metav1.ConditionFalse, Reason: v1.ReasonDefinitionOutdated}).Obj()
	var titles []string
	for _, need := range NeedsOf(&hubstate.Snapshot{Members: []v1.MemberCluster{*m}}, now()).Urgent {
		titles = append(titles, need.Title)
	}
	if diff := cmp.Diff([]string{"A cluster is not ready", "A cluster is not as it should be"}, titles); diff != "" {
		t.Errorf("titles (-want +got):\n%s", diff)
	}
}

// TestOneNeed: the same problem of many objects is one need, which lists the first of them.
func TestOneNeed(t *testing.T) {
	s := &hubstate.Snapshot{}
	for range maxObjects + 7 {
		app := apitest.App("shop").Obj()
		app.Name += string(rune('a' + len(s.Apps)))
		app.Status.Conditions = []metav1.Condition{{Type: v1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: v1.ReasonUnavailable,
			LastTransitionTime: metav1.NewTime(now().Add(-time.Duration(len(s.Apps)) * time.Minute))}}
		s.Apps = append(s.Apps, *app)
	}
	needs := NeedsOf(s, now()).Urgent
	if len(needs) != 1 || len(needs[0].Objects) != maxObjects || needs[0].More != 7 || needs[0].Count() != maxObjects+7 {
		t.Fatalf("%d needs", len(needs))
	}
	if needs[0].Age != "56m" {
		t.Errorf("its age is %s, want that of the oldest", needs[0].Age)
	}
}

// TestUnknown: of a kind that may not be listed, or that was not read, nothing is computed.
func TestUnknown(t *testing.T) {
	app := apitest.App("shop").Database(v1.EnginePostgreSQL, "16.4", "1Gi").Obj()
	app.Spec.Placement.ClusterNames = []string{"eu-1"}
	app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Region: "eu", Available: true, Ready: true}}
	for name, source := range map[string]hubstate.Source{
		"forbidden": {Forbidden: true, Problem: "forbidden"}, "revoked": {Read: true, Forbidden: true, Problem: "forbidden"},
		"never read": {}, "unreadable": {Problem: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &hubstate.Snapshot{Apps: []v1.EcommerceApp{*app}}
			for _, kind := range hubstate.Kinds() {
				source.Kind = kind
				s.Sources = append(s.Sources, source)
			}
			if row := LossOf(s, now(), Query{}).Rows[0]; !row.Unknown || row.Everything || row.MaxRPO != "" || row.AtRisk {
				t.Errorf("lost is %+v", row)
			}
			why := WhyOf(s, now(), Query{App: nameOf(app)}).Shops[0]
			if len(why.Clusters) != 1 || why.Clusters[0].Decision != notKnown || why.Problem != "" {
				t.Errorf("decided is %+v, with the problem %q", why.Clusters, why.Problem)
			}
			if needs := NeedsOf(s, now()); needs.AppsKnown || needs.MembersKnown {
				t.Error("the numbers of objects are known")
			}
		})
	}
}

// TestStateIn: an entry is in the worst state that its facts are a reason for. A pause hides no outage.
func TestStateIn(t *testing.T) {
	for name, tt := range map[string]struct {
		entry v1.ClusterStatus
		want  string
	}{
		"served":                {v1.ClusterStatus{Phase: v1.PhaseRunning, Available: true, Ready: true}, "served"},
		"not ready":             {v1.ClusterStatus{Phase: v1.PhaseUpdating, Available: true}, "degraded"},
		"with a failed feature": {v1.ClusterStatus{Phase: v1.PhaseRunning, Available: true, Ready: true, DegradedReason: v1.ReasonLoginNotConfigured}, "degraded"},
		"down":                  {v1.ClusterStatus{Phase: v1.PhaseUpdating}, "not served"},
		"created":               {v1.ClusterStatus{Phase: v1.PhaseCreating}, "starting"},
		"paused":                {v1.ClusterStatus{Phase: v1.PhasePaused, Available: true, Ready: true}, "paused"},
		"paused, not ready":     {v1.ClusterStatus{Phase: v1.PhasePaused, Available: true}, "paused"},
		"paused and down":       {v1.ClusterStatus{Phase: v1.PhasePaused}, "not served, paused"},
		"paused, data lost":     {v1.ClusterStatus{Phase: v1.PhasePaused, Available: true, DatabaseLost: true}, "not served"},
		"paused, not seen":      {v1.ClusterStatus{Phase: v1.PhasePaused, Stale: true}, "not seen"},
		"leaving":               {v1.ClusterStatus{Phase: v1.PhaseDeleting}, "leaving"},
	} {
		if got := stateIn(&tt.entry); got.Word() != tt.want {
			t.Errorf("%s: %s, want %s", name, got.Word(), tt.want)
		}
	}
	if DownPaused.Class() != Down.Class() || Served.Glyph() != "●" || Absent.Word() != "not placed" {
		t.Error("words, classes and signs are not in the order of the states")
	}
}

// TestLease: a hub that does not renew its Lease is an outage, and what cannot be read of it is a notice. Nothing is of now.
func TestLease(t *testing.T) {
	expired := hubstate.Lease{Source: hubstate.Source{Read: true}, Renewed: now().Add(-5 * time.Minute), Until: now().Add(-4 * time.Minute)}
	unreadable := expired
	unreadable.Problem = "connection refused"
	for name, tt := range map[string]struct {
		lease  hubstate.Lease
		notice string
		outage bool
	}{
		"renewed": {hubstate.Lease{Source: hubstate.Source{Read: true}, Renewed: now(), Until: now().Add(time.Minute)}, "", false},
		"expired": {expired, "No hub has renewed its Lease for 5m. What is shown is as it wrote it last, and nothing of it is of now.", true},
		"missing": {hubstate.Lease{Source: hubstate.Source{Read: true}},
			"No hub has a Lease. What is shown is as a hub wrote it last, and nothing of it is of now.", true},
		"unreadable": {unreadable, "It is not known whether the hub runs. If it does not, what is shown is outdated: connection refused", false},
		"not read":   {hubstate.Lease{}, "Its Lease is being read.", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := known(hubstate.Snapshot{Members: []v1.MemberCluster{connected("a", "True"), connected("b", "Unknown")}})
			s.Hub.Lease = tt.lease
			var notices string
			for _, notice := range NoticesOf(s, now()) {
				notices += notice.Text
			}
			urgent := NeedsOf(s, now()).Urgent
			outage := slices.ContainsFunc(urgent, func(need Need) bool { return need.Severity == Outage })
			if notices != tt.notice || outage != tt.outage {
				t.Errorf("notices %q, urgent is %+v; want %q, %t", notices, urgent, tt.notice, tt.outage)
			}
			contact := map[bool]string{true: "watched", false: notKnown}[tt.notice == ""]
			if m := WhyOf(s, now(), Query{}).Members; m[0].Contact != contact || m[1].Contact != "never" {
				t.Errorf("contacts are %q and %q, want %q and never", m[0].Contact, m[1].Contact, contact)
			}
			if got := RegionsOf(s, now(), Query{}).IsCurrent; got != (tt.notice == "") {
				t.Errorf("what is shown is current: %t", got)
			}
		})
	}
}

// TestUnwatched: what may be listed and not watched is known, and as old as its list.
func TestUnwatched(t *testing.T) {
	s := known(hubstate.Snapshot{})
	s.Sources[0] = hubstate.Source{Kind: hubstate.Apps, Read: true, Unwatched: true, Problem: "forbidden", Since: now().Add(-20 * time.Second)}
	const want = "You may list EcommerceApps, but not watch them. They are as they were 20s ago, and are listed again within a minute. " +
		"Ask an administrator for the permission: forbidden"
	if notices := NoticesOf(s, now(), hubstate.Apps); len(notices) != 1 || notices[0].Text != want || !s.Knows(hubstate.Apps) {
		t.Errorf("the notices are %+v", notices)
	}
}

// TestWindow: a page that is not there is the nearest one.
func TestWindow(t *testing.T) {
	items := make([]int, 2*pageSize+1)
	for name, tt := range map[string]struct {
		q             Query
		shown, at, of int
	}{
		"first": {Query{}, pageSize, 0, 3}, "last": {Query{Page: 2}, 1, 2, 3}, "beyond": {Query{Page: 9}, 1, 2, 3},
		"before": {Query{Page: -1}, pageSize, 0, 3}, "whole": {Query{Whole: true, Page: 1}, len(items), 0, 1},
	} {
		if shown, at, of := window(items, tt.q); len(shown) != tt.shown || at != tt.at || of != tt.of {
			t.Errorf("%s: %d items, page %d of %d", name, len(shown), at, of)
		}
	}
	if shown, at, of := window([]int{}, Query{Whole: true}); len(shown) != 0 || at != 0 || of != 1 {
		t.Errorf("of nothing: %d items, page %d of %d", len(shown), at, of)
	}
}
