package azure

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func ours() cloud.Tags { return cloud.Tags{cloud.TagHub: "hub", cloud.TagApp: "app"} }

func snapshotOf(volume cloud.VolumeRef) cloud.SnapshotSpec {
	return cloud.SnapshotSpec{Name: cloud.Name("hub", "app", "0"), Source: volume, Tags: ours(), MaySend: true}
}

// sent returns the body of the last request of an operation.
func (e *testEnv) sent(t *testing.T, op faults.Op) string {
	t.Helper()
	body := ""
	for _, call := range e.script.Calls() {
		if call.Op == op {
			_, body, _ = strings.Cut(call.Request, "\n")
		}
	}
	if body == "" {
		t.Fatalf("no request of %s with a body", op)
	}
	return body
}

func TestSnapshotsAreIncrementalAndClosed(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	volume := e.disk("d", gib)
	got, err := e.connect(t, nil).Snapshots.EnsureSnapshot(t.Context(), snapshotOf(volume))
	if err != nil {
		t.Fatal(err)
	}
	e.clock.Step(time.Minute)
	if _, err := e.connect(t, func(c *cloud.Config) { c.Region = "West Europe" }).Snapshots.EnsureCopy(t.Context(), cloud.CopySpec{
		Name: got.Name, Source: got.Ref, Tags: ours(), MaySend: true,
	}); err != nil {
		t.Fatal(err)
	}
	for op, want := range map[faults.Op][]string{
		faults.OpCreateSnapshot: {`"createOption":"Copy"`, `"location":"eastus"`, `"sourceResourceId":"` + volume.Handle + `"`},
		faults.OpCopySnapshot:   {`"createOption":"CopyStart"`, `"location":"westeurope"`, `"sourceResourceId":"` + got.Ref.ID + `"`},
	} {
		for _, part := range append(want, `"incremental":true`, `"networkAccessPolicy":"DenyAll"`, `"publicNetworkAccess":"Disabled"`) {
			if body := e.sent(t, op); !strings.Contains(body, part) {
				t.Errorf("%s has no %s: %s", op, part, body)
			}
		}
	}
}

// TestCaseOfIDs writes the handle as clusters do that were made by older drivers.
func TestCaseOfIDs(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session, volume := e.connect(t, nil), e.disk("pvc-1", gib)
	first, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotOf(volume))
	if err != nil {
		t.Fatal(err)
	}
	shouted := volume
	shouted.Handle = strings.ToUpper(volume.Handle)
	again, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotOf(shouted))
	if err != nil || again.Ref != first.Ref {
		t.Errorf("%q, %v; want %q", again.Ref.ID, err, first.Ref.ID)
	}
	if n := e.script.Count(faults.OpCreateSnapshot); n != 1 {
		t.Errorf("%d requests to create, want one", n)
	}
	if _, err := session.Volumes.DescribeVolume(t.Context(), shouted); err != nil {
		t.Errorf("describing %q: %v", shouted.Handle, err)
	}

	// The service returns the resource group in upper case, whatever the case in the request.
	e.cloud.RemoveSnapshot(first.Ref.ID)
	e.cloud.AddSnapshot(fake.Snapshot{
		Region: "eastus", Source: volume.Handle, Tags: first.Tags,
		ID: strings.ReplaceAll(strings.ReplaceAll(first.Ref.ID, "resourceGroups", "RESOURCEGROUPS"), hubGroup, strings.ToUpper(hubGroup)),
	})
	got, err := session.Snapshots.GetSnapshot(t.Context(), first.Ref)
	if err != nil || got.Ref != first.Ref {
		t.Errorf("read %q, %v; want %q", got.Ref.ID, err, first.Ref.ID)
	}
	// The session of a region with another group spells it alike.
	elsewhere := e.connect(t, func(c *cloud.Config) { c.Region = "westeurope" })
	if got, err = elsewhere.Snapshots.GetSnapshot(t.Context(), first.Ref); err != nil || got.Ref != first.Ref {
		t.Errorf("read %q elsewhere, %v; want %q", got.Ref.ID, err, first.Ref.ID)
	}
	var listed []cloud.SnapshotRef
	for one, err := range session.Snapshots.ListSnapshots(t.Context(), owner(ours())) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, one.Ref)
	}
	if diff := cmp.Diff([]cloud.SnapshotRef{first.Ref}, listed); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}

func TestForeignIDs(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session := e.connect(t, nil)
	for _, handle := range []string{
		"", "vol-1", "/subscriptions/s/resourceGroups/g", strings.ReplaceAll(e.disk("d", gib).Handle, "/disks/", "/snapshots/"),
		strings.ReplaceAll(e.disk("d", gib).Handle, accounts()[0].Subscription, accounts()[1].Subscription),
	} {
		if _, err := session.Volumes.DescribeVolume(t.Context(), cloud.VolumeRef{Handle: handle}); cloud.ClassOf(err) != cloud.ClassInvalid {
			t.Errorf("handle %q: %v, want class %q", handle, err, cloud.ClassInvalid)
		}
	}
	if n := len(e.script.Calls()); n != 0 {
		t.Errorf("%d requests for what is no disk of the account", n)
	}
}

// TestCreatedMeanwhile answers a request to create as the service does when another leader
// was faster: the existing object is used, or refused.
func TestCreatedMeanwhile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code, tag string
		there     bool
		want      cloud.Class
	}{
		"ours":                           {"Conflict", "hub", true, ""},
		"another's":                      {"Conflict", "other", true, cloud.ClassConflict},
		"being made, and not seen":       {"AnotherOperationInProgress", "", false, cloud.ClassAmbiguous},
		"of another source":              {"PropertyChangeNotAllowed", "", false, cloud.ClassConflict},
		"not possible now":               {"ConflictingUserInput", "", false, cloud.ClassTransient},
		"there, though refused in words": {"PropertyChangeNotAllowed", "hub", true, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			volume := e.disk("d", gib)
			spec := snapshotOf(volume)
			session := e.connect(t, func(c *cloud.Config) {
				inner := c.HTTP.Transport
				c.HTTP = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPut && tt.there {
						e.cloud.AddSnapshot(fake.Snapshot{
							Region: "eastus", Source: volume.Handle, Tags: cloud.Tags{cloud.TagHub: tt.tag, cloud.TagApp: "app", cloud.TagName: spec.Name},
							ID: strings.ReplaceAll(strings.ReplaceAll(volume.Handle, nodeGroup, hubGroup), "disks/d", "snapshots/"+spec.Name),
						})
					}
					return inner.RoundTrip(r)
				})}
			})
			e.script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Kind: faults.Refuse, Answer: answered(http.StatusConflict, tt.code, 0)})
			got, err := session.Snapshots.EnsureSnapshot(t.Context(), spec)
			if cloud.ClassOf(err) != tt.want || (err == nil) != (got.Name == spec.Name) {
				t.Errorf("snapshot %q, %v; want class %q", got.Name, err, tt.want)
			}
		})
	}
}

// TestDiskOfAnotherRegion requests a volume whose name another object has.
func TestDiskOfAnotherRegion(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session := e.connect(t, func(c *cloud.Config) { c.Region = "westeurope" })
	_, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotOf(e.disk("d", gib)))
	if cloud.ClassOf(err) != cloud.ClassInvalid || e.script.Count(faults.OpCreateSnapshot) != 0 {
		t.Errorf("%v, want class %q and nothing sent", err, cloud.ClassInvalid)
	}
}

// TestEachRegionHasItsGroup checks that snapshots and copies are in the group of their region: those in the group of another
// one could not be managed while that region is down.
func TestEachRegionHasItsGroup(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	made, err := e.connect(t, nil).Snapshots.EnsureSnapshot(t.Context(), snapshotOf(e.disk("d", gib)))
	if err != nil {
		t.Fatal(err)
	}
	e.clock.Step(time.Hour)
	copied, err := e.connect(t, func(c *cloud.Config) { c.Region = "westeurope" }).Snapshots.EnsureCopy(t.Context(), cloud.CopySpec{
		Name: made.Name, Source: made.Ref, Tags: ours(), MaySend: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for group, ref := range map[string]cloud.SnapshotRef{hubGroup: made.Ref, hubGroupEU: copied.Ref} {
		if _, there := e.cloud.Snapshot(ref.ID); !there || !strings.Contains(ref.ID, "/resourceGroups/"+group+"/") {
			t.Errorf("the snapshot in %s is %s, there: %t; want it in the group %s", ref.Region, ref.ID, there, group)
		}
	}
}

func TestMissingGroups(t *testing.T) {
	t.Parallel()
	e := newTestEnvAs(t, nil) // With roles on groups alone, missing ones are denied.
	volume := e.disk("d", gib)
	session := e.connect(t, func(c *cloud.Config) { c.Spec.Azure.ResourceGroups = map[string]v1.ResourceGroup{"eastus": "gone"} })
	_, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotOf(volume))
	if cloud.ClassOf(err) != cloud.ClassInvalid || codeOf(err) != "ResourceGroupNotFound" {
		t.Errorf("without the account's group: %v, want class %q", err, cloud.ClassInvalid)
	}
	volume.Handle = strings.ReplaceAll(volume.Handle, nodeGroup, "MC_gone")
	if _, err = e.connect(t, nil).Volumes.DescribeVolume(t.Context(), volume); cloud.ClassOf(err) != cloud.ClassNotFound {
		t.Errorf("without the disk's group: %v, want class %q", err, cloud.ClassNotFound)
	}
}

// TestNothingIsRegistered answers that the subscription has not taken up disks yet, which
// the SDK would fix with rights on the whole subscription.
// TestOneCopyAtATime lets the service refuse a second copy of a disk's snapshots.
// TestThrottledByTheService makes the fake refuse, and not the script before it.
// TestAttemptEnds shows that each request has an end of its own.
