package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// memberTimeout bounds the requests of one step to a member.
const memberTimeout = 20 * time.Second

// targetFacts holds the observed state of the member.
type targetFacts struct {
	cluster cluster.Cluster
	// copy is the application's copy, nil if there is none.
	copy *v1.EcommerceApp
	// claims holds the claims of the database there, by name.
	claims map[string]*claim
	// class holds the storage class for the volumes.
	class storageClass
}

// claim is a claim, and its volume if it is bound.
type claim struct {
	pvc *corev1.PersistentVolumeClaim
	pv  *corev1.PersistentVolume
}

// reader reads from the API server of the member, and writer writes there.
func (w *work) reader() client.Reader { return w.targetFacts.cluster.GetAPIReader() }
func (w *work) writer() client.Writer { return w.targetFacts.cluster.GetClient() }

// findTarget reads what there is in the member, from its API server.
func (w *work) findTarget(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	found, err := w.readTarget(ctx)
	switch {
	case errors.Is(err, csi.ErrDriverMissing):
		return steps.RetryAfter(steps.Member, v1.ReasonDriverMissing, "%s: %v", w.member.Name, err)
	case err != nil:
		return steps.FromMember(err, w.member.Name, "read claims and volumes")
	}
	w.targetFacts = found
	return steps.Result{}
}

func (w *work) readTarget(ctx context.Context) (*targetFacts, error) {
	member, err := w.options.Member(ctx, multicluster.ClusterName(w.member.Name))
	if err != nil {
		return nil, err
	}
	found := &targetFacts{cluster: member, claims: map[string]*claim{}}
	reader := member.GetAPIReader()
	copied := &v1.EcommerceApp{}
	err = reader.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: w.backup.Spec.AppRef.Name}, copied)
	switch {
	case err == nil && !w.restore.Spec.Verify:
		found.copy = copied
	case err == nil:
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("getting the copy: %w", err)
	default:
		copied = nil
	}
	if w.isDump() {
		// A driver makes the volumes that it needs. Of a class that cannot be had it is the default.
		if name, err := (wantedClass{member: w.member, copied: copied, app: w.app}).name(); err == nil {
			found.class.name = name
		}
		return found, nil
	}
	for i := range w.backup.Status.Snapshots {
		name := w.backup.Status.Snapshots[i].Claim
		c, err := w.readClaim(ctx, reader, name)
		if err != nil {
			return nil, err
		}
		if c != nil {
			found.claims[name] = c
		}
	}
	found.class, err = findClass(ctx, reader, wantedClass{member: w.member, claims: found.pvcs(), copied: found.copy, app: w.app})
	return found, err
}

// ended reports whether the Restore has replaced data and ended, according to the copy. While
// its status does not say so, the hub was restored from an older backup.
func (w *work) ended() bool {
	return w.targetFacts != nil && w.targetFacts.copy != nil && restored(w.targetFacts.copy, w.restore)
}

func (w *work) alreadyRestored() steps.Result {
	return steps.Fail(v1.ReasonAlreadyRestored, "the copy in %s records that this Restore has ended, which the hub does not know: "+
		"nothing is replaced again; create another Restore if that is wanted", w.member.Name)
}

// pvcs returns the claims, sorted by name.
func (t *targetFacts) pvcs() []*corev1.PersistentVolumeClaim {
	out := make([]*corev1.PersistentVolumeClaim, 0, len(t.claims))
	for _, name := range slices.Sorted(maps.Keys(t.claims)) {
		out = append(out, t.claims[name].pvc)
	}
	return out
}

// readClaim returns a claim and its volume, nil if there is none.
func (w *work) readClaim(ctx context.Context, reader client.Reader, name string) (*claim, error) {
	c := &claim{pvc: &corev1.PersistentVolumeClaim{}}
	err := reader.Get(ctx, client.ObjectKey{Namespace: w.namespace(), Name: name}, c.pvc)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting the claim %s: %w", name, err)
	}
	if c.pvc.Spec.VolumeName == "" {
		return c, nil
	}
	pv := &corev1.PersistentVolume{}
	err = reader.Get(ctx, client.ObjectKey{Name: c.pvc.Spec.VolumeName}, pv)
	if apierrors.IsNotFound(err) {
		return c, nil // Its volume was lost, or is not made yet.
	}
	if err != nil {
		return nil, fmt.Errorf("getting the volume of the claim %s: %w", name, err)
	}
	c.pv = pv
	return c, nil
}
