package driver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi/driver"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

const (
	namespace = metav1.NamespaceDefault
	handle    = "snap-0123456789abcdef0"
)

// snapshotted is a cluster with a driver, in whose cloud is a snapshot.
type snapshotted struct {
	client.Client
	cloud *fake.Cloud
}

func newSnapshotted(t *testing.T) *snapshotted {
	t.Helper()
	options := ebs()
	in := options.Driver.Cloud()
	in.SetPace(fake.Pace{Ready: 2 * time.Second})
	in.AddSnapshot(fake.Snapshot{
		Account: account, Region: "eu-west-1", ID: handle, SizeBytes: 20 * gib, Tags: map[string]string{"shopfleet-backup": "daily"},
	})
	f := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{
		{Name: "aws", Provider: fleet.AWS, Region: "eu-west-1", Zones: options.Zones, Nodes: 2, Driverless: true},
	}})
	cluster := f.Member("aws")
	d := listen(t, options)
	controllers, err := driver.StartControllers(t.Context(), driver.Of(cluster), d, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for program, pid := range controllers.PIDs() {
			t.Logf("%s has %s of memory", program, resident(pid))
		}
		if err := controllers.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		for program := range controllers.PIDs() {
			if t.Failed() {
				tail(t, cluster.LogFile(fleet.Component(program)))
			}
		}
	})
	c, err := client.New(cluster.AdminConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &snapshotted{Client: c, cloud: in}
}

// resident returns the resident memory of a process, on Linux.
func resident(pid int) string {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return "unknown size"
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// tail prints the end of a log.
func tail(t *testing.T, name string) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%s:\n%s", filepath.Base(name), raw[max(0, len(raw)-4000):])
}

func object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion("snapshot.storage.k8s.io/v1")
	o.SetKind(kind)
	o.SetName(name)
	return o
}

// imports creates a content for a handle, and its VolumeSnapshot.
func (s *snapshotted) imports(t *testing.T, name, handle string) (content, snapshot *unstructured.Unstructured) {
	t.Helper()
	content = object("VolumeSnapshotContent", name, map[string]any{
		"deletionPolicy": "Retain", "driver": csi.DriverEBS, "source": map[string]any{"snapshotHandle": handle},
		"volumeSnapshotRef": map[string]any{"namespace": namespace, "name": name},
	})
	snapshot = object("VolumeSnapshot", name, map[string]any{"source": map[string]any{"volumeSnapshotContentName": name}})
	snapshot.SetNamespace(namespace)
	s.create(t, content, snapshot)
	return content, snapshot
}

func (s *snapshotted) create(t *testing.T, all ...client.Object) {
	t.Helper()
	for _, one := range all {
		if err := s.Create(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
}

// restore creates a claim of a snapshot's data, and a pod in a zone that uses it.
func (s *snapshotted) restore(t *testing.T, snapshot, zone string) *corev1.PersistentVolumeClaim {
	t.Helper()
	set, err := csi.Classes(csi.Cluster{Provider: v1.ProviderAWS, Region: "eu-west-1", Drivers: []string{csi.DriverEBS}})
	if err != nil {
		t.Fatal(err)
	}
	class := set.Profiles[0].Class
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "restored"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class.Name,
			Resources:  corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")}},
			DataSource: &corev1.TypedLocalObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: snapshot},
		},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "import"},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelTopologyZone: zone},
			Containers:   []corev1.Container{{Name: "import", Image: "example.com/import:1", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
			}}},
		},
	}
	s.create(t, class, claim, pod)
	return claim
}

func TestSnapshotIsImported(t *testing.T) {
	s := newSnapshotted(t)
	content, snapshot := s.imports(t, "import-1", handle)
	mistyped, _ := s.imports(t, "import-2", "snap-0123456789abcdef9")
	s.checkBound(t, s.restore(t, snapshot.GetName(), "eu-west-1b"))

	fleettest.Eventually(t, "a handle that does not exist to be an error", func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(mistyped), mistyped); err != nil {
			return err
		}
		if ready, _, _ := unstructured.NestedBool(mistyped.Object, "status", "readyToUse"); ready {
			t.Fatal("the content of a handle that does not exist is ready")
		}
		if message, _, _ := unstructured.NestedString(mistyped.Object, "status", "error", "message"); message == "" {
			return errors.New("it has no error")
		}
		return nil
	})

	for _, one := range []client.Object{snapshot, content} {
		if err := s.Delete(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		fleettest.Eventually(t, one.GetName()+" to be gone", func(ctx context.Context) error {
			err := s.Get(ctx, client.ObjectKeyFromObject(one), one)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(err, fmt.Errorf("it is there, with the finalizers %q", one.GetFinalizers()))
		})
	}
	if _, exists := s.cloud.Snapshot(handle); !exists {
		t.Error("the snapshot was deleted with a content of policy Retain")
	}
}

// checkBound expects that a claim gets a volume in the zone of its pod, made from the snapshot.
func (s *snapshotted) checkBound(t *testing.T, claim *corev1.PersistentVolumeClaim) {
	t.Helper()
	fleettest.Eventually(t, "the claim to be bound", func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("it is %s", claim.Status.Phase)
		}
		return nil
	})
	pv := &corev1.PersistentVolume{}
	if err := s.Get(t.Context(), client.ObjectKey{Name: claim.Spec.VolumeName}, pv); err != nil {
		t.Fatal(err)
	}
	ref, err := csi.ParsePV(pv, csi.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	v, _ := s.cloud.Volume(ref.Handle)
	if ref.Zone != "eu-west-1b" || v.Zone != "eu-west-1b" || v.From != handle || v.SizeBytes != 20*gib {
		t.Errorf("the claim has a volume in %q; it is %+v", ref.Zone, v)
	}
	if owner := v.Tags["kubernetes.io/created-for/pvc/name"]; owner != claim.Name {
		t.Errorf("the volume's tags are %v, want those of the claim", v.Tags)
	}
}
