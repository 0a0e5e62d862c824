package backup

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
)

// stray returns a snapshot of 10 GiB in eu-1 that was made for the Backup of an audit, with a change.
func stray(id string, change func(*cloud.Snapshot)) cloud.Snapshot {
	s := cloud.Snapshot{Ref: cloud.SnapshotRef{Region: "eu-1", ID: id}, State: cloud.StateReady, SizeBytes: 10 << 30, Tags: cloud.Tags{
		cloud.TagHub: "hub-1", cloud.TagApp: "app-1", cloud.TagNamespace: "shops", cloud.TagBackup: "shop-eu-1-20260302-0200", cloud.TagClaim: "data",
	}}
	if change != nil {
		change(&s)
	}
	return s
}

// TestOrphans checks which snapshots no Backup names.
func TestOrphans(t *testing.T) {
	t.Parallel()
	tag := func(key, value string) func(*cloud.Snapshot) {
		return func(s *cloud.Snapshot) { s.Tags[key] = value }
	}
	for name, tt := range map[string]struct {
		snapshot cloud.Snapshot
		backup   func(*v1.Backup)
		orphan   bool
	}{
		"the snapshot of its Backup": {snapshot: stray("snap-eu-1", nil)},
		"a copy of it":               {snapshot: stray("snap-us-1", func(s *cloud.Snapshot) { s.Ref.Region = "us-1" })},
		"another one":                {snapshot: stray("snap-9", nil), orphan: true},
		"another one, being deleted": {snapshot: stray("snap-9", func(s *cloud.Snapshot) { s.State = cloud.StateDeleting })},
		"of no Backup":               {snapshot: stray("snap-eu-1", tag(cloud.TagBackup, "deleted")), orphan: true},
		"of another namespace":       {snapshot: stray("snap-eu-1", tag(cloud.TagNamespace, "deleted")), orphan: true},
		"of another application":     {snapshot: stray("snap-eu-1", tag(cloud.TagApp, "app-2")), orphan: true},
		"of another claim":           {snapshot: stray("snap-eu-1", tag(cloud.TagClaim, "log")), orphan: true},
		"without tags":               {snapshot: stray("snap-eu-1", func(s *cloud.Snapshot) { s.Tags = cloud.Tags{cloud.TagHub: "hub-1"} }), orphan: true},
		"the Backup is under way":    {snapshot: stray("snap-9", nil), backup: func(b *v1.Backup) { b.Status.Phase = v1.BackupFinalizing }},
		"the Backup is deleted": {snapshot: stray("snap-9", nil), backup: func(b *v1.Backup) {
			b.DeletionTimestamp = &metav1.Time{Time: now()}
		}},
		"the Backup failed":               {snapshot: stray("snap-eu-1", nil), backup: func(b *v1.Backup) { b.Status.Phase = v1.BackupFailed }},
		"it may be of an earlier attempt": {snapshot: stray("snap-9", nil), backup: func(b *v1.Backup) { b.Status.Snapshots[0].Attempt = 1 }},
		"it may be of a lost response":    {snapshot: stray("snap-9", nil), backup: func(b *v1.Backup) { b.Status.Snapshots[0].Copies[0].Requests = 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, h := newAudit(auditedCloud{})
			if tt.backup != nil {
				tt.backup(&h.backup)
			}
			o := newOrphans(h, nil)
			if err := o.snapshot(t.Context(), tt.snapshot); err != nil || len(o.found) > 0 != tt.orphan {
				t.Errorf("found %+v, %v", o.found, err)
			}
		})
	}
}

// TestOrphansAreWritten checks that the status of an account has what no Backup names, once, and names the
// regions that are not known.
func TestOrphansAreWritten(t *testing.T) {
	t.Parallel()
	down := &cloud.Error{Class: cloud.ClassTransient}
	lost := stray("snap-9", func(s *cloud.Snapshot) { s.Tags[cloud.TagBackup] = "lost" })
	item := v1.Orphan{Region: "eu-1", ID: "snap-9", Size: "10Gi", Backup: "shops/lost"}
	one := &v1.Orphans{Snapshots: 1, Size: "10Gi", Items: []v1.Orphan{item}}
	all := []string{"snap-eu-1", "snap-us-1"}
	for name, tt := range map[string]struct {
		cloud  auditedCloud
		before *v1.Orphans
		want   *v1.Orphans
	}{
		"none":                {cloud: auditedCloud{listed: all}},
		"one":                 {cloud: auditedCloud{listed: all, strays: []cloud.Snapshot{lost}}, want: one},
		"no more":             {cloud: auditedCloud{listed: all}, before: one},
		"another identity":    {cloud: auditedCloud{listed: all, identity: "other"}, before: one, want: one},
		"nothing is listed":   {cloud: auditedCloud{strays: []cloud.Snapshot{lost}, listErr: down}, before: one, want: &v1.Orphans{Size: "0", Unlisted: []string{"eu-1", "us-1"}}},
		"it is named by then": {cloud: auditedCloud{listed: all, strays: []cloud.Snapshot{stray("snap-eu-1", nil)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			tt.cloud.deadlines, tt.cloud.missing = &n, &n
			a, h := newAudit(tt.cloud)
			h.account.Status.Conditions, h.account.Status.Orphans = h.account.Status.Conditions[:1], tt.before
			a.pass(t)
			writes := h.accountWrites
			a.pass(t)
			if diff := gocmp.Diff(tt.want, h.account.Status.Orphans); diff != "" || writes > 1 || h.accountWrites != writes {
				t.Errorf("%d writes, then %d (-want +got):\n%s", writes, h.accountWrites, diff)
			}
		})
	}
}

// TestOrphansAreBounded checks that the largest are named, and all counted.
func TestOrphansAreBounded(t *testing.T) {
	t.Parallel()
	o := newOrphans(nil, nil)
	for i := range 30 {
		o.found = append(o.found, orphan{region: "eu-1", id: fmt.Sprintf("snap-%02d", i), bytes: int64(i%3) << 30, tags: cloud.Tags{}})
	}
	got := o.status()
	if got.Snapshots != 30 || got.Size != "30Gi" || len(got.Items) != maxOrphans || got.Items[0].ID != "snap-02" || got.Items[10].ID != "snap-01" {
		t.Errorf("%+v", got)
	}
}

// TestOrphanedDumps checks that the objects of the hub that are of no Backup are counted by dump.
func TestOrphanedDumps(t *testing.T) {
	t.Parallel()
	a, h, store := newDumpAudit(t)
	for key, content := range map[string]string{
		dumps.PartKey("shopfleet/hub-1/app-1/lost-0123", 0): "12345", dumps.PartKey("shopfleet/hub-1/app-1/lost-0123", 1): "123",
		dumps.PartKey("shopfleet/hub-1/app-1/another-0123", 0): "12",
		dumps.PartKey("shopfleet/hub-1/app-1/other-0123", 0):   "1", dumps.PartKey("shopfleet/hub-2/app-1/theirs-0123", 0): "1",
		dumps.ClaimsRoot("hub-1") + "hub-3.json": "{}", dumps.ClaimsRoot("hub-1") + "hub-1.json": "{}",
	} {
		store.Put(key, []byte(content))
	}
	other := h.backup.DeepCopy() // Of another account with the same bucket.
	other.Name, other.Status.Account, other.Status.Dump.Object.Prefix = "other", "bare", "shopfleet/hub-1/app-1/other-0123"
	h.others = []v1.Backup{*other}
	h.account.Status.Conditions = h.account.Status.Conditions[1:]
	a.pass(t)
	want := &v1.Orphans{Dumps: 2, Size: "10", Items: []v1.Orphan{
		{ID: "shopfleet/hub-1/app-1/lost-0123", Size: "8"}, {ID: "shopfleet/hub-1/app-1/another-0123", Size: "2"},
	}}
	if diff := gocmp.Diff(want, h.account.Status.Orphans); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
}

// TestClaimsAreRead checks that the claims of the hubs that have backups in an account are written, and stay while the
// bucket is not known.
func TestClaimsAreRead(t *testing.T) {
	t.Parallel()
	a, h, store := newDumpAudit(t)
	h.account.Status.Conditions = h.account.Status.Conditions[1:]
	h.backup.Status.HubUID = "hub-2"
	store.Put(dumps.ClaimsRoot("hub-2")+"hub-3.json", []byte("{}"))
	store.Put(dumps.ClaimsRoot("hub-2")+"hub-1.json", []byte("{}"))
	store.Put(dumps.ClaimsRoot("hub-4")+"hub-1.json", []byte("{}"))
	want := []v1.HubClaim{{Hub: "hub-2", Claimants: []string{"hub-1", "hub-3"}}}
	for _, ready := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionUnknown} {
		h.account.Status.Conditions[0].Status = ready
		a.pass(t)
		if diff := gocmp.Diff(want, h.account.Status.Claims); diff != "" {
			t.Errorf("ready %s (-want +got):\n%s", ready, diff)
		}
	}
	h.account.Status.Conditions[0].Status = metav1.ConditionTrue
	store.Remove(dumps.ClaimsRoot("hub-2") + "hub-1.json")
	store.Remove(dumps.ClaimsRoot("hub-2") + "hub-3.json")
	a.pass(t)
	if len(h.account.Status.Claims) > 0 {
		t.Errorf("claims are %+v", h.account.Status.Claims)
	}
}
