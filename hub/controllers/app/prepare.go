package app

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// prepare handles the annotation that requests a rolling restart. The application is updated
// from the response.
func (r *Reconciler) prepare(ctx context.Context, app *v1.EcommerceApp) error {
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
