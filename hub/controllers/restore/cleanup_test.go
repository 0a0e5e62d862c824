package restore

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func cleanupTime() time.Time { return time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC) }

// cleanupMember stands for the API server of a member, and remembers what was written.
type cleanupMember struct {
	client.Reader
	client.Writer
	claim *corev1.PersistentVolumeClaim
	pv    *corev1.PersistentVolume
	did   []string
	noted []string
}

func (c *cleanupMember) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *corev1.PersistentVolumeClaim:
		if c.claim != nil && c.claim.Name == key.Name {
			c.claim.DeepCopyInto(into)
			return nil
		}
	case *corev1.PersistentVolume:
		if c.pv != nil && c.pv.Name == key.Name {
			c.pv.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (c *cleanupMember) Delete(_ context.Context, o client.Object, options ...client.DeleteOption) error {
	given := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions
	c.did = append(c.did, fmt.Sprintf("delete %s %s at %s", o.GetName(), *given.UID, *given.ResourceVersion))
	return nil
}

func (c *cleanupMember) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	text, err := patch.Data(o)
	c.did = append(c.did, "patch "+o.GetName()+" "+string(text))
	return err
}

func newCleanupMember() *cleanupMember {
	return &cleanupMember{
		claim: &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "verify", Name: "data-0", UID: "c-1", ResourceVersion: "5", CreationTimestamp: metav1.NewTime(cleanupTime().Add(-time.Minute)),
				Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy}, Annotations: map[string]string{provisioner: "ebs.csi.aws.com"},
			},
			Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pvc-c-1"},
		},
		pv: &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pvc-c-1", ResourceVersion: "9"},
			Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				ClaimRef:                      &corev1.ObjectReference{Namespace: "verify", Name: "data-0", UID: "c-1"},
			},
		},
	}
}

// TestCleanUpClaim: a volume is told to go before its claim does, and no other claim's ever.
func TestCleanUpClaim(t *testing.T) {
	t.Parallel()
	const (
		deletes  = "delete data-0 c-1 at 5"
		reclaims = `patch pvc-c-1 {"metadata":{"resourceVersion":"9"},"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`
	)
	tests := map[string]struct {
		change func(*cleanupMember)
		gone   bool
		did    []string
	}{
		"bound":          {func(*cleanupMember) {}, false, []string{reclaims, deletes}},
		"has its policy": {func(c *cleanupMember) { c.pv.Spec.PersistentVolumeReclaimPolicy = "Delete" }, false, []string{deletes}},
		"another's":      {func(c *cleanupMember) { c.pv.Spec.ClaimRef.UID = "c-2" }, false, []string{deletes}},
		"volume is lost": {func(c *cleanupMember) { c.pv = nil }, false, []string{deletes}},
		"not ours":       {func(c *cleanupMember) { c.claim.Labels = nil }, true, nil},
		"gone":           {func(c *cleanupMember) { c.claim = nil }, true, nil},
		"on its way": {func(c *cleanupMember) {
			c.claim.DeletionTimestamp = &metav1.Time{Time: cleanupTime()}
		}, false, []string{reclaims}},
		"its volume is coming": {func(c *cleanupMember) { c.claim.Spec.VolumeName = "" }, false, nil},
		"its volume never comes": {func(c *cleanupMember) {
			c.claim.Spec.VolumeName, c.claim.CreationTimestamp = "", metav1.NewTime(cleanupTime().Add(-comingFor))
		}, false, []string{deletes}},
		"no volume was requested": {func(c *cleanupMember) { c.claim.Spec.VolumeName, c.claim.Annotations = "", nil }, false, []string{deletes}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCleanupMember()
			tt.change(c)
			note := func(_ context.Context, claim, volume string) error {
				c.noted = append(c.noted, fmt.Sprintf("%s %s after %d", claim, volume, len(c.did)))
				return nil
			}
			gone, err := cleaner{reader: c, writer: c, now: cleanupTime(), note: note}.claim(t.Context(), client.ObjectKey{Namespace: "verify", Name: "data-0"})
			if err != nil || gone != tt.gone {
				t.Errorf("gone %t, %v", gone, err)
			}
			if diff := cmp.Diff(tt.did, c.did); diff != "" {
				t.Errorf("did (-want +got):\n%s", diff)
			}
			var noted []string
			if slices.Contains(tt.did, deletes) && c.claim.Spec.VolumeName != "" {
				noted = []string{fmt.Sprintf("data-0 pvc-c-1 after %d", len(tt.did)-1)}
			}
			if diff := cmp.Diff(noted, c.noted); diff != "" {
				t.Errorf("noted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCleanUpVolume: one that no claim ever had is made to look released; its driver does the rest.
func TestCleanUpVolume(t *testing.T) {
	t.Parallel()
	c := newCleanupMember()
	m := cleaner{reader: c, writer: c, now: cleanupTime()}
	if gone, err := m.volume(t.Context(), "pvc-c-1", "r-1"); gone || err != nil || c.did != nil {
		t.Errorf("bound: gone %t, %v, %v", gone, err, c.did)
	}
	c.pv.Spec.ClaimRef.UID = ""
	gone, err := m.volume(t.Context(), "pvc-c-1", "r-1")
	want := []string{`patch pvc-c-1 {"metadata":{"resourceVersion":"9"},"spec":{"claimRef":{"uid":"r-1"}}}`}
	if diff := cmp.Diff(want, c.did); gone || err != nil || diff != "" {
		t.Errorf("never bound: gone %t, %v (-want +got):\n%s", gone, err, diff)
	}
	if gone, err := m.volume(t.Context(), "another", "r-1"); !gone || err != nil {
		t.Errorf("none: gone %t, %v", gone, err)
	}
}
