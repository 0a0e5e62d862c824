package backupenv

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cloud/fake"
)

// Class is the default storage class of the members.
const Class = "ebs"

// createClass creates the default storage class of a member.
func createClass(t *testing.T, c client.Client) {
	t.Helper()
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: Class, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: driver, ReclaimPolicy: new(corev1.PersistentVolumeReclaimRetain),
	}
	if err := c.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
}

// snapshotObject returns an object of the snapshots' API.
func snapshotObject(kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("snapshot.storage.k8s.io/v1")
	o.SetKind(kind)
	return o
}

// runSnapshots binds each VolumeSnapshot to its content, and says that it is ready if the cloud has the snapshot.
func (m memberControllers) runSnapshots(ctx context.Context) error {
	list := &unstructured.UnstructuredList{Object: snapshotObject("VolumeSnapshotList").Object}
	if err := m.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		if err := m.runSnapshot(ctx, &list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m memberControllers) runSnapshot(ctx context.Context, snapshot *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(snapshot.Object, "spec", "source", "volumeSnapshotContentName")
	content := snapshotObject("VolumeSnapshotContent")
	if err := m.Get(ctx, client.ObjectKey{Name: name}, content); err != nil || snapshot.Object["status"] != nil {
		return client.IgnoreNotFound(err)
	}
	handle, _, _ := unstructured.NestedString(content.Object, "spec", "source", "snapshotHandle")
	found, exists := m.env.Cloud.Snapshot(handle)
	if !exists {
		return nil
	}
	content.Object["status"] = map[string]any{"readyToUse": true, "restoreSize": found.SizeBytes, "snapshotHandle": handle}
	bound := content.DeepCopy()
	if err := unstructured.SetNestedField(bound.Object, string(snapshot.GetUID()), "spec", "volumeSnapshotRef", "uid"); err != nil {
		return err
	}
	snapshot.Object["status"] = map[string]any{"readyToUse": true, "restoreSize": "1Gi", "boundVolumeSnapshotContentName": name}
	err := m.Update(ctx, bound)
	content.SetResourceVersion(bound.GetResourceVersion())
	return errors.Join(err, m.Status().Update(ctx, content), m.Status().Update(ctx, snapshot))
}

// provision makes the volume of a claim from a VolumeSnapshot that is ready. A real driver waits for a pod.
func (m memberControllers) provision(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	snapshot := snapshotObject("VolumeSnapshot")
	if err := m.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Spec.DataSource.Name}, snapshot); err != nil {
		return client.IgnoreNotFound(err)
	}
	name, _, _ := unstructured.NestedString(snapshot.Object, "status", "boundVolumeSnapshotContentName")
	content := snapshotObject("VolumeSnapshotContent")
	if err := m.Get(ctx, client.ObjectKey{Name: name}, content); name == "" || err != nil {
		return client.IgnoreNotFound(err)
	}
	handle, _, _ := unstructured.NestedString(content.Object, "spec", "source", "snapshotHandle")
	from, exists := m.env.Cloud.Snapshot(handle)
	if !exists {
		return nil
	}
	made := m.env.Cloud.AddVolume(fake.Volume{
		Account: Account, Region: from.Region, Zone: from.Region + "a", ID: fake.Handle(Account, from.Region, string(c.UID)),
		SizeBytes: from.SizeBytes, From: handle,
	})
	pv := CSIVolume("pvc-"+string(c.UID), made.ID)
	pv.Spec.StorageClassName = *c.Spec.StorageClassName
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: c.Namespace, Name: c.Name, UID: c.UID}
	c.Spec.VolumeName = pv.Name
	if err := errors.Join(m.Create(ctx, pv), m.Update(ctx, c)); err != nil {
		return err
	}
	return m.bind(ctx, c)
}
