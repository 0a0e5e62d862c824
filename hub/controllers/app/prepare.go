package app

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/controllers/app/dispatch"
)

// prepare handles the annotations that request a rolling restart, and allow the application to leave
// clusters. The application is updated from the response.
func (r *Reconciler) prepare(ctx context.Context, app *v1.EcommerceApp) error {
	if err := r.forgetMoves(ctx, app); err != nil {
		return err
	}
	restart := v1.RequestedRestart(app.Annotations, app.Status.LastHandledImageUpdate, r.clock.Now())
	if restart == "" {
		return nil
	}
	// The restart token and the removal of the request are one write, so that a crash
	// neither loses nor repeats the restart.
	before := app.DeepCopy()
	if app.Annotations[v1.ImageUpdatedAnnotation] == v1.RestartNow {
		delete(app.Annotations, v1.ImageUpdatedAnnotation)
	}
	app.Annotations[v1.RestartedAtAnnotation] = restart
	if err := r.patch(ctx, before, app); err != nil {
		return fmt.Errorf("handling annotation %s: %w", v1.ImageUpdatedAnnotation, err)
	}
	r.recorder.Eventf(app, nil, corev1.EventTypeNormal, "ImageUpdated", "Restart",
		"Restarting backend and frontend, as requested by %s", v1.ImageUpdatedAnnotation)
	return nil
}

// forgetMoves removes the clusters from the annotation that the application has left: it must not lose
// the data that it has when it runs there again.
func (r *Reconciler) forgetMoves(ctx context.Context, app *v1.EcommerceApp) error {
	listed := app.Annotations[v1.MoveEmptyAnnotation]
	if listed == "" || app.Status.ObservedGeneration == 0 || app.InventoryLost() {
		return nil
	}
	var kept []string
	for name := range strings.SplitSeq(listed, ",") {
		if dispatch.EntryOf(app, strings.TrimSpace(name)) != nil {
			kept = append(kept, name)
		}
	}
	if strings.Join(kept, ",") == listed {
		return nil
	}
	before := app.DeepCopy()
	app.Annotations[v1.MoveEmptyAnnotation] = strings.Join(kept, ",")
	if len(kept) == 0 {
		delete(app.Annotations, v1.MoveEmptyAnnotation)
	}
	if err := r.patch(ctx, before, app); err != nil {
		return fmt.Errorf("removing clusters from annotation %s: %w", v1.MoveEmptyAnnotation, err)
	}
	return nil
}
