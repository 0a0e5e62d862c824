package restore

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

const claimName = "data-0"

// kept returns a volume that stays without its claim, and that a claim has if it is named.
func kept(name, claim string) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	if claim != "" {
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "prod", Name: claim}
	}
	return pv
}

// claimOn returns the claim of the database, bound to a volume.
func claimOn(volume string) *corev1.PersistentVolumeClaim {
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: claimName}}
	pvc.Spec.VolumeName, pvc.Status.Phase = volume, corev1.ClaimBound
	return pvc
}

// TestMayRetire checks what may have changed while a snapshot was imported.
func TestMayRetire(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		there  []client.Object
		change func(*work)
		reason string
	}{
		"nothing":                  {[]client.Object{kept("new", "")}, func(*work) {}, ""},
		"a replica":                {[]client.Object{kept("new", ""), replicaClaim("replica-2")}, func(*work) {}, ""},
		"the volume is gone":       {nil, func(*work) {}, v1.ReasonVolumeChanged},
		"the application has come": {[]client.Object{kept("new", "")}, func(w *work) { w.restore.Spec.Overwrite = false }, v1.ReasonVolumeInUse},
		"it came, and is to go":    {[]client.Object{kept("new", "")}, func(*work) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := replacing(tt.there...)
			w.restore.Spec.Overwrite = true
			w.targetFacts.claims[claimName] = &claim{pvc: claimOn("old")}
			tt.change(w)
			if got := w.mayRetire(t.Context()); got.Reason != tt.reason || got.Fatal != (tt.reason != "") {
				t.Errorf("%+v, want the reason %q", got, tt.reason)
			}
		})
	}
}

// TestFindReplaced checks what can be put back.
func TestFindReplaced(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		old    *corev1.PersistentVolume
		live   string
		reason string
	}{
		"of no claim":                     {kept("old", ""), "new", ""},
		"of its claim":                    {kept("old", claimName), "new", ""},
		"that is back already":            {kept("old", claimName), "old", ""},
		"of a claim of a user":            {kept("old", "to-read-it"), "new", v1.ReasonVolumeInUse},
		"the claim has another meanwhile": {kept("old", ""), "newer", v1.ReasonVolumeInUse},
		"that is gone":                    {kept("older", ""), "new", v1.ReasonVolumeChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := replacing(tt.old)
			w.targetFacts.claims[claimName] = &claim{pvc: claimOn(tt.live)}
			if got := w.findReplaced(t.Context()); got.Reason != tt.reason || got.Fatal != (tt.reason != "") {
				t.Errorf("%+v, want the reason %q", got, tt.reason)
			}
		})
	}
}

// TestWhatIsReplacedIsRecordedOnce checks that a claim that was made after its volume was replaced does not take its place in the
// record, which is what is put back.
func TestWhatIsReplacedIsRecordedOnce(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]func(*work) steps.Result{
		stepRetire: func(w *work) steps.Result { return w.retireClaims(t.Context()) },
		stepBind:   func(w *work) steps.Result { return w.bindClaims(t.Context()) },
	} {
		again := claimOn("empty")
		w := replacing(kept("new", ""), kept("empty", ""), again)
		w.targetFacts.claims[claimName] = &claim{pvc: again, pv: kept("empty", "")}
		result := step(w)
		if got := w.restore.Status.Volumes[0].Replaced; got != "old" || !result.Stops() || result.Fatal {
			t.Errorf("%s: %q is what was replaced: %+v", name, got, result)
		}
	}
}

// TestBindWaits checks that a claim that is being deleted is not bound, and that a volume that is gone is said to be.
func TestBindWaits(t *testing.T) {
	t.Parallel()
	w := replacing(kept("new", ""))
	going := claimOn("new")
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	w.targetFacts.claims[claimName] = &claim{pvc: going}
	if got := w.bindClaims(t.Context()); !got.Stops() || got.Fatal {
		t.Errorf("a claim that is being deleted: %+v", got)
	}
	w = replacing()
	if got := w.bindClaims(t.Context()); !got.Fatal || !strings.Contains(got.Message, "PersistentVolume new") {
		t.Errorf("a volume that is gone: %+v", got)
	}
}
