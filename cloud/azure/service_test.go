package azure

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake/arm"
)

func TestPreflight(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	denied := []string{"Microsoft.Compute/snapshots/delete", "Microsoft.Resources/subscriptions/resourceGroups/read"}
	for _, action := range denied {
		e.server.Deny(accounts()[0].Subscription, action)
	}
	session := e.connect(t, nil)
	checks, err := session.Access.Preflight(t.Context(), cloud.Owner{Hub: "hub"})
	if err != nil {
		t.Fatal(err)
	}
	var missing, asked []string
	for _, check := range checks {
		if check.Unchecked == "" {
			asked = append(asked, check.Permission)
		}
		if !check.Granted && check.Unchecked == "" {
			missing = append(missing, check.Permission)
		}
	}
	role := documented(t)[strings.ToLower(hubGroup)]
	wanted := slices.DeleteFunc(slices.Clone(role.Actions), func(a string) bool { return a == "Microsoft.Authorization/permissions/read" })
	if diff := cmp.Diff(slices.Sorted(slices.Values(wanted)), slices.Sorted(slices.Values(asked))); diff != "" {
		t.Errorf("permissions (-documented +checked):\n%s", diff)
	}
	slices.Sort(missing)
	slices.Sort(denied)
	if diff := cmp.Diff(denied, missing); diff != "" || len(checks) != len(needed())+len(otherGroups())+1 {
		t.Errorf("missing of %d (-want +got):\n%s", len(checks), diff)
	}

	made, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotOf(e.disk("d", gib)))
	if err != nil {
		t.Fatal(err)
	}
	e.clock.Step(time.Minute)
	err = session.Snapshots.DeleteSnapshot(t.Context(), made.Ref, cloud.Owner{Hub: "hub"})
	if cloud.ClassOf(err) != cloud.ClassDenied || codeOf(err) != "Microsoft.Compute/snapshots/delete" {
		t.Errorf("error %v, want class %q with the permission as code", err, cloud.ClassDenied)
	}
}

// TestPreflightOfKeys checks the disk encryption set of a region before a copy needs it.
func TestPreflightOfKeys(t *testing.T) {
	t.Parallel()
	const field = "spec.azure.keys.westeurope"
	other := strings.Replace(set("eu"), accounts()[0].Subscription, accounts()[1].Subscription, 1)
	for name, tt := range map[string]struct {
		key    string
		denied bool
		want   cloud.PermissionCheck
		says   string
	}{
		"none":        {"", false, cloud.PermissionCheck{Scope: "the resource groups of disk encryption sets", Unchecked: notNamed}, ""},
		"there":       {set("eu"), false, cloud.PermissionCheck{Scope: "the set of " + field, Granted: true, By: "request"}, ""},
		"denied":      {set("eu"), true, cloud.PermissionCheck{Scope: "the set of " + field, By: "request"}, ""},
		"elsewhere":   {set("us"), false, cloud.PermissionCheck{}, field + " is a disk encryption set in eastus: set the ID of one in westeurope"},
		"missing":     {set("gone"), false, cloud.PermissionCheck{}, field + " is a disk encryption set that does not exist: set the ID of one in westeurope"},
		"of another":  {other, false, cloud.PermissionCheck{}, "is not in subscription"},
		"not an ID":   {"eu", false, cloud.PermissionCheck{}, "is not of the form"},
		"a disk's ID": {strings.Replace(set("eu"), typeSets, typeDisks, 1), false, cloud.PermissionCheck{}, "is not of the form"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			if tt.denied {
				e.server.Deny(accounts()[0].Subscription, permissionSets)
			}
			session := e.connect(t, func(c *cloud.Config) { configure(c, cloudtest.Options{Region: 1, Key: tt.key}) })
			checks, err := session.Access.Preflight(t.Context(), cloud.Owner{Hub: "hub"})
			if tt.says != "" {
				if cloud.ClassOf(err) != cloud.ClassInvalid || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v, want class %q and %q", err, cloud.ClassInvalid, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Permission = permissionSets
			if diff := cmp.Diff(tt.want, checks[len(checks)-1]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatternsOfPermissions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, action string
		want            bool
	}{
		{"*", "Microsoft.Compute/disks/read", true},
		{"*/read", "Microsoft.Compute/disks/read", true},
		{"*/read", "Microsoft.Compute/disks/write", false},
		{"microsoft.compute/*", "Microsoft.Compute/disks/read", true},
		{"Microsoft.Compute/*/read", "Microsoft.Compute/disks/read", true},
		{"Microsoft.Compute/*/a*c", "Microsoft.Compute/x/abc", true},
		{"Microsoft.Compute/disks/read", "Microsoft.Compute/disks/read", true},
		{"Microsoft.Compute/disks", "Microsoft.Compute/disks/read", false},
		{"Microsoft.Network/*", "Microsoft.Compute/disks/read", false},
		{"Microsoft.Compute/disks/*/action", "Microsoft.Compute/disks/action", false},
	}
	for _, tt := range tests {
		if got := matches([]string{tt.pattern}, tt.action); got != tt.want {
			t.Errorf("%q allows %q: %t, want %t", tt.pattern, tt.action, got, tt.want)
		}
	}
}

func TestNothingIsRegistered(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session, volume := e.connect(t, nil), e.disk("d", gib)
	e.script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Kind: faults.Refuse, Answer: faults.Answer{
		Status: http.StatusConflict, Header: http.Header{"Content-Type": {"application/json"}},
		Body: arm.ErrorBody("MissingSubscriptionRegistration", "The subscription is not registered to use namespace 'Microsoft.Compute'. See https://aka.ms/rps-not-found"),
	}})
	_, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotOf(volume))
	if cloud.ClassOf(err) != cloud.ClassInvalid {
		t.Errorf("%v, want class %q", err, cloud.ClassInvalid)
	}
	if n := len(e.script.Calls()); n != 4 {
		t.Errorf("%d requests, want a token, two looks and one to create", n)
	}
}

func TestOneCopyAtATime(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.server.SetLimits(arm.Limits{SerialCopies: true})
	here, volume := e.connect(t, nil), e.disk("d", gib)
	there := e.connect(t, func(c *cloud.Config) { c.Region = "westeurope" })
	var copies []cloud.CopySpec
	for _, name := range []string{"first", "second"} {
		spec := snapshotOf(volume)
		spec.Name = name
		made, err := here.Snapshots.EnsureSnapshot(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, cloud.CopySpec{Name: name, Source: made.Ref, Tags: ours(), MaySend: true})
	}
	_, err := there.Snapshots.EnsureCopy(t.Context(), copies[0])
	if cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("copying what is not ready: %v, want class %q", err, cloud.ClassTransient)
	}
	e.clock.Step(time.Minute)
	if _, err = there.Snapshots.EnsureCopy(t.Context(), copies[0]); err != nil {
		t.Fatal(err)
	}
	if _, err = there.Snapshots.EnsureCopy(t.Context(), copies[1]); cloud.ClassOf(err) != cloud.ClassQuota {
		t.Errorf("copying while another is copied: %v, want class %q", err, cloud.ClassQuota)
	}
	e.clock.Step(time.Minute)
	if _, err = there.Snapshots.EnsureCopy(t.Context(), copies[1]); err != nil {
		t.Errorf("copying when the other is done: %v", err)
	}
}

func TestThrottledByTheService(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session, volume := e.connect(t, nil), e.disk("d", gib)
	for _, after := range []time.Duration{0, 33 * time.Second} {
		e.server.Throttle(1, after)
		_, err := session.Volumes.DescribeVolume(t.Context(), volume)
		want := max(after, 5*time.Second)
		if cloud.ClassOf(err) != cloud.ClassThrottled || cloud.RetryAfter(err) != want {
			t.Errorf("%v, again after %s; want class %q after %s", err, cloud.RetryAfter(err), cloud.ClassThrottled, want)
		}
		if _, err := session.Volumes.DescribeVolume(t.Context(), volume); err != nil {
			t.Errorf("when asked again: %v", err)
		}
	}
	e.server.SetLimits(arm.Limits{Burst: 1})
	spec := snapshotOf(volume)
	if _, err := session.Snapshots.EnsureSnapshot(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	e.clock.Step(time.Minute)
	spec.Name = "second"
	_, err := session.Snapshots.EnsureSnapshot(t.Context(), spec)
	if cloud.ClassOf(err) != cloud.ClassThrottled || cloud.RetryAfter(err) != 4*time.Minute {
		t.Errorf("%v, again after %s; want class %q after 4m", err, cloud.RetryAfter(err), cloud.ClassThrottled)
	}
}

func TestAttemptEnds(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	var end time.Time
	session := e.connect(t, func(c *cloud.Config) {
		c.HTTP = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			var ok bool
			if end, ok = r.Context().Deadline(); !ok {
				t.Errorf("%s has no deadline", r.URL.Path)
			}
			return nil, context.DeadlineExceeded
		})}
	})
	_, err := session.Volumes.DescribeVolume(t.Context(), e.disk("d", gib))
	if cloud.ClassOf(err) != cloud.ClassTransient || end.IsZero() {
		t.Errorf("error %v with deadline %s, want class %q", err, end, cloud.ClassTransient)
	}
}
