package restore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// replicaClaim returns the claim of a replica, bound to a volume.
func replicaClaim(volume string) *corev1.PersistentVolumeClaim {
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: render.OtherDatabaseClaims("shop")[1]}}
	pvc.Spec.VolumeName = volume
	return pvc
}

// TestMayReplace checks that no data is replaced without spec.overwrite, that of a replica included: its claim may hold the only
// data.
func TestMayReplace(t *testing.T) {
	t.Parallel()
	overwrite, verify := func(s *v1.RestoreSpec) { s.Overwrite = true }, func(s *v1.RestoreSpec) { s.Verify = true }
	for name, tt := range map[string]struct {
		there   []client.Object
		primary bool
		change  func(*v1.RestoreSpec)
		want    string
	}{
		"nothing":                  {nil, false, func(*v1.RestoreSpec) {}, ""},
		"the primary":              {nil, true, func(*v1.RestoreSpec) {}, claimName},
		"the primary, overwritten": {nil, true, overwrite, ""},
		"a replica":                {[]client.Object{replicaClaim("replica-2")}, false, func(*v1.RestoreSpec) {}, "data-shop-database-2"},
		"a replica, overwritten":   {[]client.Object{replicaClaim("replica-2")}, false, overwrite, ""},
		"verified":                 {[]client.Object{replicaClaim("replica-2")}, true, verify, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := replacing(tt.there...)
			if tt.primary {
				w.targetFacts.claims[claimName] = &claim{pvc: claimOn("old")}
			}
			tt.change(&w.restore.Spec)
			got := w.mayReplace(t.Context())
			if got.Stops() != (tt.want != "") || !strings.Contains(got.Message, tt.want) || got.Stops() && (!got.Fatal || got.Reason != v1.ReasonVolumeInUse) {
				t.Errorf("%+v, want one about %q", got, tt.want)
			}
		})
	}
}

// TestReplicasAreRetired checks that the claim of a replica is deleted once the status names its volume, and that the volume stays.
func TestReplicasAreRetired(t *testing.T) {
	t.Parallel()
	other, volume := replicaClaim("replica-2"), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "replica-2"}}
	w := replacing(other, volume)
	c := w.targetFacts.cluster.GetClient()
	exists := func() bool {
		t.Helper()
		err := c.Get(t.Context(), client.ObjectKeyFromObject(other), &corev1.PersistentVolumeClaim{})
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return !apierrors.IsNotFound(err)
	}
	if got := w.retireReplicas(t.Context()); !got.Stops() || got.Fatal || !exists() {
		t.Errorf("before it is recorded: %+v, the claim exists: %t", got, exists())
	}
	w.stored = w.restore.DeepCopy()
	if got := w.retireReplicas(t.Context()); !got.Stops() || got.Fatal || exists() {
		t.Errorf("when it is recorded: %+v, the claim exists: %t", got, exists())
	}
	if got := w.retireReplicas(t.Context()); got.Stops() {
		t.Errorf("when it is gone: %+v", got)
	}
	if diff := cmp.Diff([]string{"replica-2"}, w.restore.Status.ReplicaVolumes); diff != "" {
		t.Errorf("the volumes that are kept (-want +got):\n%s", diff)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(volume), volume); err != nil || volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		t.Errorf("the volume is kept with the policy %q: %v", volume.Spec.PersistentVolumeReclaimPolicy, err)
	}
}

// TestEachWayRetiresReplicas checks that the data of replicas goes when the primary's is replaced, and when it is put back: they
// have copied what is not there any more. What is replaced is recorded before the first of them goes.
func TestEachWayRetiresReplicas(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*work) []steps.Step{stepRetire: (*work).steps, stepReturn: (*work).stepsBack} {
		w := replacing(replicaClaim("replica-2"), kept("replica-2", ""), kept("old", claimName), kept("new", ""))
		w.restore.Status.Volumes[0].Replaced = ""
		w.targetFacts.claims[claimName] = &claim{pvc: claimOn("old"), pv: kept("old", claimName)}
		all := run(w)
		at := slices.IndexFunc(all, func(s steps.Step) bool { return s.Name == name })
		for pass := range 2 {
			result, err := all[at].Run(t.Context())
			if err != nil || !result.Stops() || result.Fatal {
				t.Fatalf("%s, pass %d: %+v, %v", name, pass, result, err)
			}
			if replaced := w.restore.Status.Volumes[0].Replaced; name == stepRetire && replaced != "old" {
				t.Errorf("%s, pass %d: %q is replaced, want it recorded", name, pass, replaced)
			}
			w.stored = w.restore.DeepCopy()
		}
		there, err := w.readClaim(t.Context(), w.reader(), replicaClaim("").Name)
		if err != nil || there != nil {
			t.Errorf("%s: the claim of the replica is %+v, %v", name, there, err)
		}
	}
}

// TestStopsEachPod checks that a database counts as stopped when none of its pods is there: the claim of one that runs stays.
func TestStopsEachPod(t *testing.T) {
	t.Parallel()
	for _, pod := range []string{"", "shop-database-0", "shop-database-2"} {
		var there []client.Object
		if pod != "" {
			there = append(there, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: pod}})
		}
		w := replacing(there...)
		w.targetFacts.copy = &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.RestoringAnnotation: w.restore.Name}}}
		if got := w.stopDatabase(t.Context()); got.Stops() != (pod != "") || !strings.Contains(got.Message, pod) {
			t.Errorf("with pod %q: %+v", pod, got)
		}
	}
}

// createReplica creates the claim and the volume of a replica, unless it is there.
func (c *crashes) createReplica(t *testing.T) {
	t.Helper()
	name := render.OtherDatabaseClaims(backupenv.Shop)[0]
	storage := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: backupenv.Namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: fmt.Sprintf("replica-%d", c.restores),
			StorageClassName: new(""), Resources: corev1.VolumeResourceRequirements{Requests: storage},
		},
	}
	if err := c.Create(t.Context(), pvc); apierrors.IsAlreadyExists(err) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	c.MustCreate(t, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: pvc.Spec.VolumeName},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: pvc.Spec.AccessModes, Capacity: storage, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/replica"}},
		},
	})
}

// retired checks that the claim of the replica is gone, and that its volume is kept, and named.
func (c *crashes) retired(t *testing.T, r *v1.Restore) {
	t.Helper()
	pvc := client.ObjectKey{Namespace: backupenv.Namespace, Name: render.OtherDatabaseClaims(backupenv.Shop)[0]}
	if err := c.Get(t.Context(), pvc, &corev1.PersistentVolumeClaim{}); !apierrors.IsNotFound(err) {
		t.Errorf("the claim of the replica: %v, want it deleted", err)
	}
	if len(r.Status.ReplicaVolumes) != 1 {
		t.Fatalf("the volumes of replicas are %q, want one", r.Status.ReplicaVolumes)
	}
	pv := &corev1.PersistentVolume{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: r.Status.ReplicaVolumes[0]}, pv); err != nil {
		t.Fatal(err)
	}
	if pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		t.Errorf("the volume %s is %s, want it kept", pv.Name, pv.Spec.PersistentVolumeReclaimPolicy)
	}
}
