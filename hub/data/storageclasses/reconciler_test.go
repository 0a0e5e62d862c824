package storageclasses

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

func inCloud(provider v1.Provider, capabilities ...string) *v1.MemberCluster {
	return &v1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "eu-1"},
		Status:     v1.MemberClusterStatus{ClusterUID: "u", Provider: provider, Region: "eu-west-1", Capabilities: capabilities},
	}
}

func app(config v1.CloudConfig) v1.EcommerceApp {
	return v1.EcommerceApp{
		Spec:   v1.EcommerceAppSpec{CloudConfig: config},
		Status: v1.EcommerceAppStatus{Clusters: []v1.ClusterStatus{{Name: "eu-1"}}},
	}
}

// TestDecide checks which classes a member should have.
func TestDecide(t *testing.T) {
	t.Parallel()
	ebs := csi.CapabilityDriver + csi.DriverEBS
	io2 := v1.CloudConfig{AWS: &v1.AWSConfig{EBS: v1.EBSConfig{Type: "io2", IOPS: new(int32(8000))}}}
	wrong := v1.CloudConfig{AWS: &v1.AWSConfig{EBS: v1.EBSConfig{Type: "gp3", IOPS: new(int32(1))}}}
	patched := func(value string) v1.EcommerceApp {
		a := app(io2)
		a.Spec.Overrides = []v1.Override{{JSONPatches: []v1.JSONPatch{{Op: "replace", Path: "/cloudConfig/aws/ebs/iops"}}}}
		a.Spec.Overrides[0].JSONPatches[0].Value.Raw = []byte(value)
		return a
	}
	tests := map[string]struct {
		member           *v1.MemberCluster
		apps             []v1.EcommerceApp
		profiles, ofApps int
		snapshots        bool
		reason           string
	}{
		"a cloud":                     {inCloud(v1.ProviderAWS, ebs), nil, 3, 0, false, v1.ReasonProvisioned},
		"with the snapshot kinds":     {inCloud(v1.ProviderAWS, ebs, csi.CapabilitySnapshots), nil, 3, 0, true, v1.ReasonProvisioned},
		"two apps that ask the same":  {inCloud(v1.ProviderAWS, ebs), []v1.EcommerceApp{app(io2), app(io2)}, 3, 1, false, v1.ReasonProvisioned},
		"an app that asks nonsense":   {inCloud(v1.ProviderAWS, ebs), []v1.EcommerceApp{app(wrong)}, 3, 0, false, v1.ReasonProvisioned},
		"an app with a patch":         {inCloud(v1.ProviderAWS, ebs), []v1.EcommerceApp{app(io2), patched("9000")}, 3, 2, false, v1.ReasonProvisioned},
		"an app with a wrong patch":   {inCloud(v1.ProviderAWS, ebs), []v1.EcommerceApp{patched(`"much"`)}, 3, 0, false, v1.ReasonProvisioned},
		"no driver":                   {inCloud(v1.ProviderAWS), nil, 0, 0, false, v1.ReasonDriverMissing},
		"another provider's driver":   {inCloud(v1.ProviderGCP, ebs), nil, 0, 0, false, v1.ReasonDriverMissing},
		"another provider":            {inCloud(v1.ProviderOther), nil, 0, 0, false, v1.ReasonProvisioned},
		"a provider that is not told": {inCloud(""), nil, 0, 0, false, v1.ReasonProviderUnknown},
		"a status that was lost":      {&v1.MemberCluster{Status: v1.MemberClusterStatus{Provider: v1.ProviderAWS}}, nil, 0, 0, false, v1.ReasonProviderUnknown},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &member{Storage: New(nil, Options{})}
			specs, err := m.specs(t.Context(), tt.member, tt.apps)
			if err != nil {
				t.Fatal(err)
			}
			in := decide(tt.member, specs)
			if len(in.set.Profiles) != tt.profiles || len(in.extra) != tt.ofApps || in.snapshots != tt.snapshots {
				t.Errorf("%d profiles, %d classes of apps, snapshots %t; want %d, %d, %t",
					len(in.set.Profiles), len(in.extra), in.snapshots, tt.profiles, tt.ofApps, tt.snapshots)
			}
			if c, _ := in.status(nil); c.Reason != tt.reason {
				t.Errorf("reason %s, want %s", c.Reason, tt.reason)
			}
		})
	}
}

// TestStatus checks what is reported about a class that could not be written.
func TestStatus(t *testing.T) {
	t.Parallel()
	in := decide(inCloud(v1.ProviderAWS, csi.CapabilityDriver+csi.DriverEBS), nil)
	resource := schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}
	tests := map[string]struct {
		err    error
		status metav1.ConditionStatus
		reason string
	}{
		"all is there":  {nil, metav1.ConditionTrue, v1.ReasonProvisioned},
		"not managed":   {fmt.Errorf("writing: %w", &apply.ConflictError{}), metav1.ConditionFalse, v1.ReasonConflict},
		"forbidden":     {fmt.Errorf("writing: %w", apierrors.NewForbidden(resource, "x", nil)), metav1.ConditionFalse, v1.ReasonForbidden},
		"anything else": {errors.New("dial tcp 10.0.0.1:6443"), metav1.ConditionFalse, v1.ReasonApplyFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, classes := in.status(tt.err)
			if c.Status != tt.status || c.Reason != tt.reason {
				t.Errorf("%s %s, want %s %s", c.Status, c.Reason, tt.status, tt.reason)
			}
			var got []v1.StorageProfile
			for _, class := range classes {
				got = append(got, class.Profile)
				if class.ClassName == "" {
					t.Errorf("%s has no class", class.Profile)
				}
			}
			if diff := cmp.Diff([]v1.StorageProfile{v1.StorageArchive, v1.StorageFast, v1.StorageStandard}, got); diff != "" {
				t.Errorf("profiles (-want +got):\n%s", diff)
			}
		})
	}
}
