package restore

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
)

const patchVolume = "patch persistentvolumes"

// cleanupTest creates claims with their volumes.
type cleanupTest struct {
	*backupenv.Env
	claims int
}

func (c *cleanupTest) all(t *testing.T) {
	t.Run("claim", c.claim)
	t.Run("claim that changes", c.claimThatChanges)
}

// cleanupCase is a claim, what it is bound to, and the time.
type cleanupCase struct {
	claim *corev1.PersistentVolumeClaim
	pv    *corev1.PersistentVolume
	age   time.Duration
	// deleted means that the claim is on its way.
	deleted bool
}

// newCase returns a claim of ours that a driver made a volume for.
func (c *cleanupTest) newCase() *cleanupCase {
	c.claims++
	name := fmt.Sprintf("cleanup-%d", c.claims)
	pv := backupenv.CSIVolume(name, "vol-"+name)
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: backupenv.Namespace, Name: name}
	return &cleanupCase{pv: pv, age: time.Minute, claim: &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: backupenv.Namespace, Name: name,
			Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy}, Annotations: map[string]string{provisioner: "ebs.csi.aws.com"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: name, AccessModes: pv.Spec.AccessModes, StorageClassName: new(""),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}}
}

// create creates what there is of a case, and returns a cleaner in a process.
func (c *cleanupTest) create(t *testing.T, s *cleanupCase) (cleaner, *backupenv.Process) {
	t.Helper()
	now := c.Clock.Now()
	if s.claim != nil {
		c.MustCreate(t, s.claim)
		now = s.claim.CreationTimestamp.Add(s.age)
	}
	if s.pv != nil {
		if s.claim != nil && s.pv.Spec.ClaimRef.UID == "" {
			s.pv.Spec.ClaimRef.UID = s.claim.UID
		}
		c.MustCreate(t, s.pv)
	}
	if s.deleted {
		if err := c.Delete(t.Context(), s.claim.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	p := c.NewProcess(t, backupenv.Crash{})
	return cleaner{reader: p.Client, writer: p.Client, now: now}, p
}

// claim checks that a volume is marked for deletion before its claim is deleted, and that no other claim is deleted.
func (c *cleanupTest) claim(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*cleanupCase)
		gone   bool
		sent   []string
	}{
		"bound": {func(*cleanupCase) {}, false, []string{patchVolume, deleteClaim}},
		"told already": {func(s *cleanupCase) { s.pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete },
			false, []string{deleteClaim}},
		"another's":            {func(s *cleanupCase) { s.pv.Spec.ClaimRef.UID = "c-2" }, false, []string{deleteClaim}},
		"volume is lost":       {func(s *cleanupCase) { s.pv = nil }, false, []string{deleteClaim}},
		"not ours":             {func(s *cleanupCase) { s.claim.Labels = nil }, true, nil},
		"gone":                 {func(s *cleanupCase) { s.claim, s.pv = nil, nil }, true, nil},
		"on its way":           {func(s *cleanupCase) { s.deleted = true }, false, []string{patchVolume}},
		"its volume is coming": {func(s *cleanupCase) { s.claim.Spec.VolumeName, s.pv = "", nil }, false, nil},
		"its volume never comes": {func(s *cleanupCase) { s.claim.Spec.VolumeName, s.pv, s.age = "", nil, provisioningLimit },
			false, []string{deleteClaim}},
		"no volume was requested": {func(s *cleanupCase) { s.claim.Spec.VolumeName, s.pv, s.claim.Annotations = "", nil, nil },
			false, []string{deleteClaim}},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.newCase()
			key := client.ObjectKeyFromObject(s.claim)
			tt.change(s)
			m, p := c.create(t, s)
			gone, err := m.claim(t.Context(), key)
			if err != nil || gone != tt.gone {
				t.Errorf("gone %t, %v", gone, err)
			}
			if diff := cmp.Diff(tt.sent, p.Sent(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if slices.Contains(tt.sent, patchVolume) {
				c.expectPolicy(t, s.pv, corev1.PersistentVolumeReclaimDelete)
			}
		})
	}
}

func (c *cleanupTest) expectPolicy(t *testing.T, pv *corev1.PersistentVolume, want corev1.PersistentVolumeReclaimPolicy) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pv), pv); err != nil || pv.Spec.PersistentVolumeReclaimPolicy != want {
		t.Errorf("the policy is %s, want %s: %v", pv.Spec.PersistentVolumeReclaimPolicy, want, err)
	}
}

// changingReader changes a claim after it was read.
type changingReader struct {
	client.Reader
	change func()
}

func (r changingReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, options...)
	if _, is := o.(*corev1.PersistentVolumeClaim); is {
		r.change()
	}
	return err
}

// claimThatChanges checks that a claim that changed after it was read is not deleted.
func (c *cleanupTest) claimThatChanges(t *testing.T) {
	s := c.newCase()
	m, _ := c.create(t, s)
	m.reader = changingReader{m.reader, func() {
		backupenv.Change(t, c.Env, s.claim.Name, func(claim *corev1.PersistentVolumeClaim) { claim.Annotations["a"] = "b" })
	}}
	if gone, err := m.claim(t.Context(), client.ObjectKeyFromObject(s.claim)); gone || !apierrors.IsConflict(err) {
		t.Errorf("gone %t, %v", gone, err)
	}
}
