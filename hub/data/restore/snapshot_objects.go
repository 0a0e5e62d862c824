package restore

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	snapshotGroup   = "snapshot.storage.k8s.io"
	snapshotVersion = snapshotGroup + "/v1"
)

// volumeImport names and makes the objects by which a member's driver makes one volume from a snapshot.
type volumeImport struct {
	// namespace and name are those of the VolumeSnapshot, the Job and the claim. The content, which has no namespace, is
	// named alike: no other Restore has the name.
	namespace, name string
	// restore is the name of the Restore.
	restore string
	// driver and handle identify the snapshot, class the storage class of the claim.
	driver, handle, class string
}

// importOf returns the import of a volume.
func (w *work) importOf(v *v1.RestoredVolume) volumeImport {
	unique := objectparts.Hash(string(w.restore.UID) + "/" + v.Claim + "/" + strconv.Itoa(int(v.Attempt)))
	return volumeImport{
		namespace: w.namespace(), name: objectparts.Name(w.backup.Spec.AppRef.Name, "-import-"+unique, objectparts.MaxName),
		restore: w.restore.Name, driver: w.targetFacts.class.driver, handle: v.Snapshot, class: w.targetFacts.class.name,
	}
}

func (i volumeImport) labels() map[string]string {
	return map[string]string{v1.RestoreLabel: objectparts.LabelValue(i.restore), v1.ManagedByLabel: v1.ManagedBy}
}

// content returns the VolumeSnapshotContent. Its policy is Retain: the snapshot in the cloud belongs to the Backup.
func (i volumeImport) content() *unstructured.Unstructured {
	o := i.object("VolumeSnapshotContent", map[string]any{
		"deletionPolicy": "Retain", "driver": i.driver, "source": map[string]any{"snapshotHandle": i.handle},
		"volumeSnapshotRef": map[string]any{"namespace": i.namespace, "name": i.name},
	})
	o.SetNamespace("")
	return o
}

// snapshot returns the VolumeSnapshot.
func (i volumeImport) snapshot() *unstructured.Unstructured {
	return i.object("VolumeSnapshot", map[string]any{"source": map[string]any{"volumeSnapshotContentName": i.name}})
}

func (i volumeImport) object(kind string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion(snapshotVersion)
	o.SetKind(kind)
	o.SetNamespace(i.namespace)
	o.SetName(i.name)
	o.SetLabels(i.labels())
	return o
}

// claim returns the claim whose volume the driver makes from the snapshot.
func (i volumeImport) claim(size resource.Quantity) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   objectparts.Type("v1", "PersistentVolumeClaim"),
		ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: i.name, Labels: i.labels()},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &i.class,
			Resources:  corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
			DataSource: &corev1.TypedLocalObjectReference{APIGroup: new(snapshotGroup), Kind: "VolumeSnapshot", Name: i.name},
		},
	}
}

// importSize returns the size to request: the largest of the database's, the snapshot's, and that of the claim that is
// replaced. A driver makes no volume that is smaller than the snapshot's.
func (w *work) importSize(v *v1.RestoredVolume, snapshot *unstructured.Unstructured) resource.Quantity {
	var all []resource.Quantity
	if text, _, _ := unstructured.NestedString(snapshot.Object, "status", "restoreSize"); text != "" {
		if q, err := resource.ParseQuantity(text); err == nil {
			all = append(all, q)
		}
	}
	if db := w.database(); db != nil && !w.restore.Spec.Verify {
		if q, err := db.StorageQuantity(); err == nil {
			all = append(all, q)
		}
	}
	if live := w.targetFacts.claims[v.Claim]; live != nil {
		all = append(all, live.pvc.Spec.Resources.Requests[corev1.ResourceStorage])
	}
	return largest(append(all, snapshotSize(&w.backup.Status, v.Snapshot)))
}

func largest(all []resource.Quantity) resource.Quantity {
	var most resource.Quantity
	for _, q := range all {
		if q.Cmp(most) > 0 {
			most = q
		}
	}
	return most
}

// databaseLike returns the database of a copy, else of an application, else one that runs on the data of the backup with the
// image of the engine.
func (w *work) databaseLike(copied, app *v1.EcommerceApp) (database.Spec, error) {
	if copied == nil || copied.Spec.Database == nil {
		copied = app
	}
	if copied != nil && copied.Spec.Database != nil {
		return render.Database(copied, render.Cluster{Name: w.member.Name})
	}
	b := &w.backup.Status
	return database.Spec{
		Owner:  objectparts.Owner{Kind: "ecommerceapp", Name: w.backup.Spec.AppRef.Name, Namespace: w.restore.Namespace},
		Suffix: "-database", Field: "the backup", Engine: b.Engine, Version: b.Version, Replicas: 1,
		Storage: snapshotSize(b, cmp.Or(b.Snapshots[0].ID, "")),
	}, nil
}
