package restore

import (
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// importing returns a Restore in place, in a member that has the application and the claim that is replaced, before the
// snapshot is imported.
func importing(t *testing.T) *work {
	t.Helper()
	w := situation()
	w.now, w.restore.Namespace, w.restore.Spec.Overwrite = time.Unix(1000, 0), "prod", true
	w.restore.Status.Volumes = []v1.RestoredVolume{{Claim: claimName, Snapshot: "snap-2"}}
	w.restore.Status.Steps = recordOf(w.now, "Resolve")
	w.app.Namespace, w.app.Name, w.app.Spec.Database.Storage = "prod", "shop", "1Gi"
	member := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(member), v1.AddToScheme(member)); err != nil {
		t.Fatal(err)
	}
	old := claimOn("old")
	w.targetFacts = &targetFacts{
		cluster: storage{client: fake.NewClientBuilder().WithScheme(member).WithObjects(w.app, old).Build()},
		claims:  map[string]*claim{claimName: {pvc: old}}, class: storageClass{name: "fast", driver: csi.DriverEBS},
	}
	w.targetFacts.copy = w.app.DeepCopy()
	return w
}

// snapshotIsReady says that the driver knows the snapshot.
func (w *work) snapshotIsReady(t *testing.T) {
	t.Helper()
	c, snapshot := w.targetFacts.cluster.GetClient(), w.importOf(&w.restore.Status.Volumes[0]).snapshot()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(snapshot), snapshot); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(snapshot.Object, true, "status", "readyToUse"); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
}

// volumeIsMade binds the claim of the import to a volume.
func (w *work) volumeIsMade(t *testing.T) {
	t.Helper()
	i := w.importOf(&w.restore.Status.Volumes[0])
	c, claim := w.targetFacts.cluster.GetClient(), &corev1.PersistentVolumeClaim{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: i.namespace, Name: i.name}, claim); err != nil {
		t.Fatal(err)
	}
	claim.Spec.VolumeName = "new"
	if err := errors.Join(c.Create(t.Context(), kept("new", i.name)), c.Update(t.Context(), claim)); err != nil {
		t.Fatal(err)
	}
}

// jobEnds ends the Job that uses the volume first.
func (w *work) jobEnds(t *testing.T, how batchv1.JobConditionType) {
	t.Helper()
	i := w.importOf(&w.restore.Status.Volumes[0])
	c, job := w.targetFacts.cluster.GetClient(), &batchv1.Job{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: i.namespace, Name: i.name}, job); err != nil {
		t.Fatal(err)
	}
	job.Status.Conditions = []batchv1.JobCondition{{Type: how, Status: corev1.ConditionTrue}}
	if err := c.Status().Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
}

// advances runs the steps as far as they go now, and stores how far that is.
func (w *work) advances(t *testing.T) steps.Result {
	t.Helper()
	result, err := steps.Advance(t.Context(), w.steps(), &w.restore.Status.Steps, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.stored = w.restore.DeepCopy()
	return result
}

// TestNothingStopsWithoutAVolume checks that the database runs on its claim for as long as the driver of the member has made no
// volume that the database can use: it may be denied the snapshot, the zone, the key or to attach what it made.
func TestNothingStopsWithoutAVolume(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(t *testing.T, w *work)
		reason string
		fatal  bool
	}{
		"the driver does not find the snapshot": {func(*testing.T, *work) {}, v1.ReasonCreatingVolumes, false},
		"the driver makes no volume": {func(t *testing.T, w *work) {
			t.Helper()
			w.snapshotIsReady(t)
		}, v1.ReasonCreatingVolumes, false},
		"no pod can use the volume": {func(t *testing.T, w *work) {
			t.Helper()
			w.snapshotIsReady(t)
			w.advances(t)
			w.volumeIsMade(t)
		}, v1.ReasonCreatingVolumes, false},
		"the data cannot be opened": {func(t *testing.T, w *work) {
			t.Helper()
			w.snapshotIsReady(t)
			w.advances(t)
			w.volumeIsMade(t)
			w.jobEnds(t, batchv1.JobFailed)
		}, v1.ReasonSnapshotFailed, true},
		"the claim is not bound": {func(t *testing.T, w *work) {
			t.Helper()
			w.snapshotIsReady(t)
			w.advances(t)
			w.jobEnds(t, batchv1.JobComplete)
		}, v1.ReasonCreatingVolumes, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := importing(t)
			w.advances(t)
			w.advances(t)
			tt.change(t, w)
			w.advances(t)
			if got := w.advances(t); got.Reason != tt.reason || got.Fatal != tt.fatal {
				t.Errorf("%+v, want the reason %q", got, tt.reason)
			}
			copied, claim := &v1.EcommerceApp{}, &corev1.PersistentVolumeClaim{}
			for key, o := range map[client.ObjectKey]client.Object{{Namespace: "prod", Name: "shop"}: copied, {Namespace: "prod", Name: claimName}: claim} {
				if err := w.reader().Get(t.Context(), key, o); err != nil {
					t.Fatal(err)
				}
			}
			if at := w.restore.Status.Steps; lockHolder(copied) != "" || claim.Spec.VolumeName != "old" || at[len(at)-1].Name != stepImport {
				t.Errorf("the database is stopped by %q, its volume is %s, and the steps are %+v", lockHolder(copied), claim.Spec.VolumeName, at)
			}
		})
	}
}
