package reconciler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
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
		return
	}
	decision := component.DeletePlan(components, p.live, p.object.GetUID())
	if len(decision.States) == 0 {
		r.release(ctx, p)
		return
	}
	p.states = decision.States
	r.execute(ctx, p, decision.Steps)
	r.report(ctx, p)
}

// release removes the finalizer, so that the API server deletes the object.
func (r *reconciler[T]) release(ctx context.Context, p *pass[T]) {
	err := r.patch(ctx, p.object, func(object T) {
		controllerutil.RemoveFinalizer(object, v1.SpokeFinalizer)
	})
	if err != nil && !apierrors.IsNotFound(err) {
		p.fail("", fmt.Errorf("removing the finalizer: %w", err))
		return
	}
	r.member.Settings.Metrics.observe(r.subject(client.ObjectKeyFromObject(p.object)), "")
}
