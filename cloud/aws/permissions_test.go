package aws_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// as replaces the server by one that knows the hub's key with another policy.
func (e *testEnv) as(policy *iam.Policy) {
	e.server = ec2.New(e.cloud, ec2.Options{
		Clock: e.clock, Keys: []ec2.Key{{ID: keyID, Secret: key, Account: account, Name: "shopfleet", Policy: policy}},
	})
}

// TestVolumesOfClusters checks that the documented policy allows snapshots of each kind of volume that a
// PersistentVolume may be, and of no other.
func TestVolumesOfClusters(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		handle string
		tags   map[string]string
		denied bool
	}{
		"of the EBS CSI driver": {"", map[string]string{"ebs.csi.aws.com/cluster": "true", "CSIVolumeName": "pvc-1"}, false},
		"of EKS Auto Mode":      {"", map[string]string{"eks:eks-cluster-name": "shop", "CSIVolumeName": "pvc-1"}, false},
		"of the in-tree plugin": {"aws://" + here + "a/", map[string]string{"kubernetes.io/created-for/pvc/name": "data-shop-0"}, false},
		"of a machine":          {"", map[string]string{"Name": "root"}, true},
		"without tags":          {"", nil, true},
		"of another driver":     {"", map[string]string{"ebs.csi.aws.com/cluster": "false"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			volume := e.disks()(t, "data", 20*gib)
			e.cloud.EditVolume(volume.Handle, func(v *fake.Volume) { v.Tags = tt.tags })
			volume.Handle = tt.handle + volume.Handle
			_, err := e.session(t, cloudtest.Options{}).Snapshots.EnsureSnapshot(t.Context(), snapshotSpec(volume, "data"))
			if !tt.denied && err != nil || tt.denied && (cloud.ClassOf(err) != cloud.ClassDenied || resultOf(t, err).Code != "ec2:CreateSnapshot") {
				t.Errorf("%v, want denied: %t", err, tt.denied)
			}
			checks, err := e.session(t, cloudtest.Options{}).Access.Preflight(t.Context(), owned())
			tested := func(c cloud.PermissionCheck) bool { return c.Permission == "ec2:CreateSnapshot" && c.Granted }
			if err != nil || slices.ContainsFunc(checks, tested) == tt.denied {
				t.Errorf("%+v, %v; want a test with this volume: %t", checks, err, !tt.denied)
			}
		})
	}
}

// TestKeysOfCopies checks that the documented policy for a key suffices for copies with it. Without it EC2 accepts
// the request, and the snapshot fails.
func TestKeysOfCopies(t *testing.T) {
	t.Parallel()
	const theirs = "arn:aws:kms:" + there + ":" + account + ":key/7"
	page, err := iam.Read("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	ofKeys, err := page.AWSKey(allKeys)
	if err != nil {
		t.Fatal(err)
	}
	policies := map[string]*iam.Policy{
		"": documented(t, cloudtest.HubUID, allKeys), "another key": documented(t, cloudtest.HubUID, "arn:aws:kms:"+here+":"+account+":key/1"),
		"no key": documented(t, cloudtest.HubUID, ""),
	}
	for _, action := range ofKeys.Actions() {
		if action != "kms:GenerateDataKey" { // That is for buckets.
			policies[action] = documented(t, cloudtest.HubUID, allKeys).Without(action)
		}
	}
	for missing, policy := range policies {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			e.as(policy)
			from := e.ready(t, e.session(t, cloudtest.Options{}))
			config := e.config()
			config.Region, config.Spec.AWS = there, &v1.AWSAccount{AccountID: account, Keys: map[string]v1.KMSKey{there: theirs}}
			elsewhere := connect(t, config)
			tags := cloud.Tags{cloud.TagHub: owned().Hub, cloud.TagApp: owned().App}
			made, err := elsewhere.Snapshots.EnsureCopy(t.Context(), cloud.CopySpec{Name: "copy", Source: from.Ref, Tags: tags, MaySend: true})
			if err != nil {
				t.Fatal(err)
			}
			e.clock.Step(time.Hour)
			want := cloud.StateReady
			if missing != "" {
				want = cloud.StateFailed
			}
			if got, err := elsewhere.Snapshots.GetSnapshot(t.Context(), made.Ref); err != nil || got.State != want {
				t.Errorf("the copy is %q, %v, want %q", got.State, err, want)
			}
		})
	}
}

// TestNoPermissionIsSpare checks that one of the methods needs each action of the documented policy.
func TestNoPermissionIsSpare(t *testing.T) {
	t.Parallel()
	for _, action := range documented(t, cloudtest.HubUID, "").Actions() {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			session := e.session(t, cloudtest.Options{})
			own, data := e.ready(t, session).Ref, e.disks()(t, "more", 20*gib)
			tags := cloud.Tags{cloud.TagHub: owned().Hub, cloud.TagApp: owned().App}
			e.as(documented(t, cloudtest.HubUID, "").Without(action))
			session = e.session(t, cloudtest.Options{})
			elsewhere := e.session(t, cloudtest.Options{Region: 1})
			_, _ = session.Snapshots.EnsureSnapshot(t.Context(), snapshotSpec(data, "more"))
			_, _ = elsewhere.Snapshots.EnsureCopy(t.Context(), cloud.CopySpec{Name: "copy", Source: own, Tags: tags, MaySend: true})
			_ = session.Snapshots.DeleteSnapshot(t.Context(), own, owned())
			needed := func(refused string) bool { return strings.HasPrefix(refused, action) }
			if refused := e.server.Refused(); !slices.ContainsFunc(refused, needed) {
				t.Errorf("without %s only this is refused: %q", action, refused)
			}
		})
	}
}
