package reconciler

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// finalize deletes the objects that the application controls, in reverse order, and
// removes the finalizer when none is left.
func (r *reconciler[T]) finalize(ctx context.Context, p *pass[T]) {
	if !controllerutil.ContainsFinalizer(p.object, v1.SpokeFinalizer) {
		return
	}
	p.deleting = true
	// Without a valid spec the order is unknown: everything is deleted at once.
	components, err := r.render(p.object, r.facts(p.object))
	if err != nil {
		components = nil
	}
	p.components = components
	if p.live, err = r.observe(ctx, p.object, components); err != nil {
		p.fail("", err)
		r.reportProblems(ctx, p)
		return
	}
	decision := component.DecideDeletion(components, p.live, p.object.GetUID())
	if len(decision.States) == 0 && !p.paused {
		r.end(ctx, p)
		return
	}
	p.states = decision.States
	r.execute(ctx, p, decision.Steps)
	r.writeStatus(ctx, p)
}

// end releases an object that has no children, when the volumes of its database are gone if it asks for that.
func (r *reconciler[T]) end(ctx context.Context, p *pass[T]) {
	if r.kind.DeletesVolumes != nil {
		if db, deletes := r.kind.DeletesVolumes(p.object); deletes {
			claim, err := r.deleteVolumes(ctx, p, db)
			switch {
			case err != nil:
				p.fail(database.Component, err)
			case claim != "":
				p.states = []component.State{{Name: database.Component, Phase: v1.PhaseDeleting, Reason: v1.ReasonDeleting,
					Message: "waiting for PersistentVolumeClaim " + claim + " to be deleted"}}
			}
			if err != nil || claim != "" {
				r.writeStatus(ctx, p)
				return
			}
		}
	}
	r.release(ctx, p)
}

// deleteVolumes deletes the claims of a database's pods and, when they are gone, the mark that the database
// was created. It returns a claim that is still there; empty if none is.
func (r *reconciler[T]) deleteVolumes(ctx context.Context, p *pass[T], db database.Spec) (string, error) {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := r.member.Reader.List(ctx, claims, client.InNamespace(p.object.GetNamespace()), client.MatchingLabels(db.PodSelector())); err != nil {
		return "", fmt.Errorf("listing the claims of the database: %w", err)
	}
	left := ""
	for i := range claims.Items {
		claim := &claims.Items[i]
		if !db.IsVolume(claim.Name) {
			continue
		}
		left = cmp.Or(left, claim.Name)
		if claim.DeletionTimestamp != nil {
			continue
		}
		if err := r.member.Applier.Delete(ctx, claim, metav1.DeletePropagationBackground); err != nil {
			return "", err
		}
	}
	if left != "" {
		return left, nil
	}
	mark := &corev1.Secret{}
	found, err := r.readCertainly(ctx, client.ObjectKey{Namespace: p.object.GetNamespace(), Name: db.MarkName()}, mark, true)
	if err != nil || !found {
		return "", err
	}
	return "", r.member.Applier.Delete(ctx, mark, metav1.DeletePropagationBackground)
}

// reportProblems writes why a deletion does not go on, unless it is tried again at once.
func (r *reconciler[T]) reportProblems(ctx context.Context, p *pass[T]) {
	if len(p.problems) > 0 {
		r.writeStatus(ctx, p)
	}
}

// release removes the finalizer, so that the API server deletes the object.
func (r *reconciler[T]) release(ctx context.Context, p *pass[T]) {
	err := r.patch(ctx, p.object, func(object T) {
		controllerutil.RemoveFinalizer(object, v1.SpokeFinalizer)
	})
	if err != nil && !apierrors.IsNotFound(err) {
		p.fail("", fmt.Errorf("removing the finalizer: %w", err))
		r.reportProblems(ctx, p)
		return
	}
	r.member.Settings.Metrics.observe(r.subject(client.ObjectKeyFromObject(p.object)), "")
}
