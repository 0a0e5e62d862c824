package aws_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
)

// owned returns the owner of the objects that these tests create.
func owned() cloud.Owner { return cloud.Owner{Hub: cloudtest.HubUID, App: "app-1"} }

func snapshotSpec(volume cloud.VolumeRef, name string) cloud.SnapshotSpec {
	return cloud.SnapshotSpec{Name: name, Source: volume, MaySend: true, Tags: cloud.Tags{cloud.TagHub: owned().Hub, cloud.TagApp: owned().App}}
}

// ready makes a snapshot that is ready.
func (e *testEnv) ready(t *testing.T, session cloud.Session) cloud.Snapshot {
	t.Helper()
	made, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotSpec(e.disks()(t, "data", 20*gib), "data"))
	if err != nil {
		t.Fatal(err)
	}
	e.clock.Step(time.Hour)
	return made
}

// preflight returns the result of the check of each permission, or why there is none.
func preflight(t *testing.T, session cloud.Session) map[string]string {
	t.Helper()
	got, err := session.Access.Preflight(t.Context(), owned())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range got {
		out[c.Permission] = cmp.Or(c.Unchecked, map[bool]string{true: "granted", false: "denied"}[c.Granted]+" by "+c.By)
	}
	return out
}

// TestPreflight checks that each documented permission has a check with a result, or the reason why it has none.
func TestPreflight(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session := e.session(t, cloudtest.Options{})
	const noVolume, noSnapshot = "there is no volume of a cluster to test it with", "there is no snapshot of the hub to test it with"
	want := map[string]string{
		"ec2:DescribeVolumes": "granted by request", "ec2:DescribeSnapshots": "granted by request", "ec2:CreateSnapshot": noVolume,
		"ec2:CreateTags": noVolume, "ec2:CopySnapshot": noSnapshot, "ec2:DeleteSnapshot": noSnapshot,
	}
	if diff := gocmp.Diff(want, preflight(t, session)); diff != "" {
		t.Errorf("in an empty account (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(slices.Sorted(slices.Values(documented(t, cloudtest.HubUID, "").Actions())), slices.Sorted(maps.Keys(want))); diff != "" {
		t.Errorf("permissions (-documented +checked):\n%s", diff)
	}

	e.ready(t, session)
	before, disks := e.cloud.Snapshots(), e.cloud.Volumes()
	for _, verb := range []string{"CreateSnapshot", "CopySnapshot", "DeleteSnapshot", "CreateTags"} {
		want["ec2:"+verb] = "granted by dry run"
	}
	if diff := gocmp.Diff(want, preflight(t, session)); diff != "" {
		t.Errorf("with all rights (-want +got):\n%s", diff)
	}
	e.as(documented(t, cloudtest.HubUID, "").Without("ec2:CreateTags"))
	session = e.session(t, cloudtest.Options{})
	want["ec2:CreateTags"] = "denied by dry run"
	for _, verb := range []string{"CreateSnapshot", "CopySnapshot"} {
		want["ec2:"+verb] = "it needs ec2:CreateTags"
	}
	if diff := gocmp.Diff(want, preflight(t, session)); diff != "" {
		t.Errorf("without the right to give tags (-want +got):\n%s", diff)
	}
	e.as(documented(t, cloudtest.HubUID, ""))
	session = e.session(t, cloudtest.Options{})
	e.server.Deny("DeleteSnapshot", "CopySnapshot", "DescribeVolumes")
	for _, verb := range []string{"DeleteSnapshot", "CopySnapshot"} {
		want["ec2:"+verb] = "denied by dry run"
	}
	want["ec2:DescribeVolumes"], want["ec2:CreateTags"], want["ec2:CreateSnapshot"] = "denied by request", noVolume, noVolume
	if diff := gocmp.Diff(want, preflight(t, session)); diff != "" {
		t.Errorf("without three rights (-want +got):\n%s", diff)
	}
	if len(e.cloud.Snapshots()) != len(before) || len(e.cloud.Volumes()) != len(disks) {
		t.Error("asking for permissions changed something")
	}

	e.server.Deny()
	e.script.Add(faults.Fault{Op: faults.OpOther, Skip: 1, Kind: faults.DropBefore})
	if _, err := session.Access.Preflight(t.Context(), owned()); cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("%v when the connection fails, want class %q", err, cloud.ClassTransient)
	}
}

// TestCopyIsEncrypted checks the key of a copy, which the Session interface does not show.
func TestCopyIsEncrypted(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	from := e.ready(t, e.session(t, cloudtest.Options{}))
	config := e.config()
	config.Region, config.Spec.AWS.Keys = there, map[string]v1.KMSKey{there: "alias/elsewhere"}
	made, err := connect(t, config).Snapshots.EnsureCopy(t.Context(), cloud.CopySpec{
		Name: "copy", Source: from.Ref, MaySend: true, Tags: cloud.Tags{cloud.TagHub: owned().Hub},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := e.cloud.Snapshot(made.Ref.ID); !got.Encrypted || got.KMSKey != "alias/elsewhere" || got.Region != there {
		t.Errorf("%+v, want it encrypted with the account's key of its region", got)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session := e.session(t, cloudtest.Options{})
	volume := e.disks()(t, "data", gib)
	old := volume
	old.Handle = "aws://" + here + "a/" + volume.Handle
	if got, err := session.Volumes.DescribeVolume(t.Context(), old); err != nil || got.Ref != volume {
		t.Errorf("%q: %+v, %v", old.Handle, got.Ref, err)
	}
	before := len(e.script.Calls())
	for _, ref := range []cloud.VolumeRef{
		{Region: here, Handle: "local-ebs://dev/xvdf"}, {Region: here, Handle: "vol-"}, {Region: here, Handle: "vol-0123456789abcdef0 "},
		{Region: here, Handle: "/dev/sda"}, {Region: there, Handle: volume.Handle}, {},
	} {
		if _, err := session.Volumes.DescribeVolume(t.Context(), ref); cloud.ClassOf(err) != cloud.ClassInvalid {
			t.Errorf("%+v: %v, want class %q", ref, err, cloud.ClassInvalid)
		}
	}
	for _, ref := range []cloud.SnapshotRef{{Region: here, ID: "projects/p/global/snapshots/s"}, {Region: there, ID: "snap-0123456789abcdef0"}, {}} {
		if err := session.Snapshots.DeleteSnapshot(t.Context(), ref, owned()); cloud.ClassOf(err) != cloud.ClassInvalid {
			t.Errorf("deleting %+v: %v, want class %q: gone would be a lie", ref, err, cloud.ClassInvalid)
		}
	}
	if sent := len(e.script.Calls()) - before; sent > 0 {
		t.Errorf("%d requests were sent", sent)
	}
	for _, err := range session.Snapshots.ListSnapshots(t.Context(), cloud.Owner{App: "app"}) {
		if cloud.ClassOf(err) != cloud.ClassInvalid {
			t.Errorf("listing without a hub: %v, want class %q", err, cloud.ClassInvalid)
		}
	}
	if sent := len(e.script.Calls()) - before; sent > 0 {
		t.Error("everybody's snapshots were listed")
	}
}

// TestLimitsOfVolumes runs into the real limits, which the contract is put to without.
func TestLimitsOfVolumes(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.server.SetLimits(ec2.DefaultLimits())
	e.cloud.SetPace(fake.Pace{Ready: time.Hour})
	session, volume := e.session(t, cloudtest.Options{}), e.disks()(t, "data", gib)
	ensure := func(name string) error {
		_, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotSpec(volume, name))
		return err
	}
	if err := ensure("0"); err != nil {
		t.Fatal(err)
	}
	want := result{Class: cloud.ClassThrottled, Code: "SnapshotCreationPerVolumeRateExceeded", After: 15 * time.Second}
	if got := resultOf(t, ensure("1")); got != want {
		t.Errorf("at once again: %v, want %v", got, want)
	}
	for _, name := range []string{"1", "2", "3", "4"} {
		e.clock.Step(15 * time.Second)
		if err := ensure(name); err != nil {
			t.Fatal(err)
		}
	}
	e.clock.Step(15 * time.Second)
	want = result{Class: cloud.ClassQuota, Code: "ConcurrentSnapshotLimitExceeded", After: time.Minute}
	if got := resultOf(t, ensure("5")); got != want {
		t.Errorf("a sixth that is pending: %v, want %v", got, want)
	}
	e.clock.Step(2 * time.Hour)
	if err := ensure("5"); err != nil {
		t.Errorf("when the others are done: %v", err)
	}
}

func TestLimitsOfAccounts(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	from := e.ready(t, e.session(t, cloudtest.Options{}))
	e.cloud.SetPace(fake.Pace{Ready: 2 * time.Hour})
	e.clock.Step(2 * time.Hour)
	e.server.SetLimits(ec2.Limits{Copies: 1, Snapshots: 1})
	elsewhere := e.session(t, cloudtest.Options{Region: 1})
	copied := func(name string) error {
		_, err := elsewhere.Snapshots.EnsureCopy(t.Context(), cloud.CopySpec{Name: name, Source: from.Ref, MaySend: true, Tags: cloud.Tags{cloud.TagHub: cloudtest.HubUID}})
		return err
	}
	if err := copied("0"); err != nil {
		t.Fatal(err)
	}
	want := result{Class: cloud.ClassQuota, Code: "ResourceLimitExceeded", After: time.Minute}
	if got := resultOf(t, copied("1")); got != want {
		t.Errorf("a second copy: %v, want %v", got, want)
	}
	_, err := e.session(t, cloudtest.Options{}).Snapshots.EnsureSnapshot(t.Context(), snapshotSpec(e.disks()(t, "other", gib), "1"))
	want = result{Class: cloud.ClassQuota, Code: "SnapshotLimitExceeded", After: 30 * time.Minute}
	if got := resultOf(t, err); got != want {
		t.Errorf("a second snapshot: %v, want %v", got, want)
	}
}
