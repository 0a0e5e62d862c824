package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// foreign holds the provisioner of a StorageClass that takes a name before the hub does.
const foreign = "other.example.com"

// classes returns the StorageClasses that a member should have.
func (s *suite) classes(t *testing.T, member string) (csi.ClassSet, v1.Provider) {
	t.Helper()
	found := &v1.MemberCluster{}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Name: member}, found); err != nil {
		t.Fatal(err)
	}
	set, err := csi.Classes(csi.ClusterOf(found))
	if err != nil {
		t.Fatal(err)
	}
	return set, found.Status.Provider
}

// usurp takes the name of a class in the second member, before the hub comes.
func (s *suite) usurp(t *testing.T) {
	t.Helper()
	set, err := csi.Classes(csi.Cluster{Provider: v1.ProviderAWS, Drivers: []string{csi.DriverEBS}})
	if err != nil {
		t.Fatal(err)
	}
	taken := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: set.Profiles[2].Class.Name}, Provisioner: foreign}
	if err := s.Members[second].Create(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
}

// testClasses compares the classes of the members with what they should be.
func (s *suite) testClasses(t *testing.T) {
	t.Helper()
	for _, p := range s.providers {
		member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: p.member}}
		s.awaitCondition(t, member, v1.ConditionStorageReady, metav1.ConditionTrue, v1.ReasonProvisioned)
		set, _ := s.classes(t, p.member)
		for _, want := range set.Profiles {
			got := &storagev1.StorageClass{}
			if err := s.Members[p.member].Get(t.Context(), client.ObjectKeyFromObject(want.Class), got); err != nil {
				t.Errorf("%s: %v", p.member, err)
				continue
			}
			if diff := cmp.Diff(want.Class.Parameters, got.Parameters); diff != "" || got.Provisioner != set.Driver {
				t.Errorf("%s: the class %s has the driver %q and parameters (-want +got):\n%s", p.member, got.Name, got.Provisioner, diff)
			}
			if name := profileClass(member, want.Profile); name != got.Name {
				t.Errorf("%s: the status says that %s is %q, want %q", p.member, want.Profile, name, got.Name)
			}
		}
		s.checkSnapshotClasses(t, p.member, set.Driver)
	}
	local := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "local-1"}}
	s.awaitCondition(t, local, v1.ConditionStorageReady, metav1.ConditionTrue, v1.ReasonProvisioned)
	if name := profileClass(local, v1.StorageFast); name != "" || len(local.Status.StorageClasses) != 3 {
		t.Errorf("local-1: the profiles are %v, want the default class for each", local.Status.StorageClasses)
	}
}

// profileClass returns the class of a profile in a member's status.
func profileClass(m *v1.MemberCluster, profile v1.StorageProfile) string {
	for _, c := range m.Status.StorageClasses {
		if c.Profile == profile {
			return c.ClassName
		}
	}
	return "unknown"
}

// checkSnapshotClasses looks for the VolumeSnapshotClass. A member without a cloud does not have the kind.
func (s *suite) checkSnapshotClasses(t *testing.T, member, driver string) {
	t.Helper()
	found, err := snapshotClasses(t.Context(), s.Members[member])
	if err != nil || len(found) != 1 || found[0].Object["driver"] != driver {
		t.Errorf("%s: the snapshot classes are %v, error %v, want one of %s", member, found, err, driver)
	}
}

func snapshotClasses(ctx context.Context, c client.Client) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotClassList"})
	err := c.List(ctx, list)
	return list.Items, err
}

// testClassDrift changes and deletes classes by hand, and takes a name away.
func (s *suite) testClassDrift(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		c, key := s.Members[p.member], client.ObjectKeyFromObject(first(s.classes(t, p.member)).Profiles[0].Class)
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}
		framework.Edit(t, c, class, func(class *storagev1.StorageClass) { class.AllowVolumeExpansion = new(false) })
		framework.Eventually(t, "the class to be put right", func(ctx context.Context) error {
			if err := c.Get(ctx, key, class); err != nil {
				return err
			}
			if !*class.AllowVolumeExpansion {
				return errors.New("it does not expand")
			}
			return nil
		})
		if err := c.Delete(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		framework.Eventually(t, "the class to be made again", func(ctx context.Context) error { return c.Get(ctx, key, class) })
	})
	t.Run("a name that is taken", func(t *testing.T) {
		member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: second}}
		condition := s.awaitCondition(t, member, v1.ConditionStorageReady, metav1.ConditionFalse, v1.ReasonConflict)
		taken := &storagev1.StorageClass{}
		key := client.ObjectKeyFromObject(first(s.classes(t, second)).Profiles[2].Class)
		if err := s.Members[second].Get(t.Context(), key, taken); err != nil {
			t.Fatal(err)
		}
		if taken.Provisioner != foreign || len(taken.Labels) > 0 || !strings.Contains(condition.Message, key.Name) {
			t.Errorf("the foreign class has provisioner %q and labels %v; the condition says %q", taken.Provisioner, taken.Labels, condition.Message)
		}
		if err := s.Members[second].Delete(t.Context(), taken); err != nil {
			t.Fatal(err)
		}
		// Foreign classes are not watched: a change of the member causes a reconciliation.
		framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { metav1.SetMetaDataAnnotation(&m.ObjectMeta, "example.com/look", "again") })
		s.awaitCondition(t, member, v1.ConditionStorageReady, metav1.ConditionTrue, v1.ReasonProvisioned)
	})
}

func first[A, B any](a A, _ B) A { return a }

// grown gives the shop larger volumes.
func (s *suite) grown(t *testing.T) {
	t.Helper()
	framework.Edit(t, s.Hub, s.app, func(app *v1.EcommerceApp) { app.Spec.Database.Storage = storage })
	want := resource.MustParse(storage)
	for _, p := range s.providers {
		handle := s.volume(t, p.member, s.claim(t, p.member).Spec.VolumeName).Spec.CSI.VolumeHandle
		framework.Eventually(t, "the volume in "+p.member+" to grow", func(context.Context) error {
			if made, _ := p.cloud.Volume(handle); made.SizeBytes != want.Value() {
				return fmt.Errorf("it has %d bytes, want %d", made.SizeBytes, want.Value())
			}
			return nil
		})
	}
	s.AwaitRunning(t, s.app, "eu-west-1", "europe-west1", "local", "westeurope")
}

// testClaims sees a shop's claims bound to volumes of the clouds.
func (s *suite) testClaims(t *testing.T) {
	t.Helper()
	s.app = newShop(shop, "aws-eu", "az-eu", "gcp-eu", "local-1")
	s.Create(t, s.app)
	s.AwaitRunning(t, s.app, "eu-west-1", "europe-west1", "local", "westeurope")
	kinds := map[v1.Provider]fake.Volume{
		v1.ProviderAWS:   {Type: "gp3", IOPS: 6000, Throughput: 250},
		v1.ProviderGCP:   {Type: "pd-ssd"},
		v1.ProviderAzure: {Type: "Premium_LRS"},
	}
	for _, p := range s.providers {
		claim := s.claim(t, p.member)
		pv := s.volume(t, p.member, claim.Spec.VolumeName)
		want := first(s.classes(t, p.member)).Profiles[1].Class.Name
		if *claim.Spec.StorageClassName != want || pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
			t.Errorf("%s: the claim has the class %s and its volume is %s, want %s and Retain",
				p.member, *claim.Spec.StorageClassName, pv.Spec.PersistentVolumeReclaimPolicy, want)
		}
		made, ok := p.cloud.Volume(pv.Spec.CSI.VolumeHandle)
		got := fake.Volume{Type: made.Type, IOPS: made.IOPS, Throughput: made.Throughput}
		if diff := cmp.Diff(kinds[p.name], got, cmp.AllowUnexported(fake.Volume{})); !ok || diff != "" {
			t.Errorf("%s: the volume in the cloud is there: %t (-want +got):\n%s", p.member, ok, diff)
		}
		framework.Eventually(t, "the volume in "+p.member+" to be attached", func(context.Context) error {
			if made, _ := p.cloud.Volume(pv.Spec.CSI.VolumeHandle); !made.Attached {
				return fmt.Errorf("volume %s is not", made.ID)
			}
			return nil
		})
	}
	s.grown(t)
	if class := s.claim(t, "local-1").Spec.StorageClassName; class == nil || *class != "standard" {
		t.Errorf("local-1: the claim's class is %v, want the default one", class)
	}
}
