package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/placement"
)

// prepare handles the annotations that request a rolling restart, and allow the application to leave clusters. It changes
// the application alone: writeAhead stores it, so that the restart token and the
// removal of the request are one write, and a crash neither loses nor repeats the restart. An application that is being
// deleted stays as it is.
func (r *Reconciler) prepare(app *v1.EcommerceApp) {
	if app.DeletionTimestamp != nil {
		return
	}
	if app.Status.ObservedGeneration != 0 && !app.InventoryLost() {
		// It must not lose the data that it has when it runs there again.
		removeMoves(app, func(name string) bool { return app.Status.EntryOf(name) == nil })
	}
	restart := v1.RequestedRestart(app.Annotations, app.Status.LastHandledImageUpdate, r.clock.Now())
	if restart == "" {
		return
	}
	if app.Annotations[v1.ImageUpdatedAnnotation] == v1.RestartNow {
		delete(app.Annotations, v1.ImageUpdatedAnnotation)
	}
	app.Annotations[v1.RestartedAtAnnotation] = restart
}

// withdrawMoves takes the clusters out of the annotation that nothing makes the application leave, as after a drain
// that was ended: the consent must not count for the next one. The members are read from the API server, because
// who drains one annotates the applications next, and the cache may have the annotation first.
func (r *Reconciler) withdrawMoves(ctx context.Context, app *v1.EcommerceApp, in *observation) error {
	if len(in.decision.UnusedMoves) == 0 || len(in.Unanswered) > 0 || app.InventoryLost() {
		return nil
	}
	latest := in.request
	latest.Clusters = slices.Clone(latest.Clusters)
	for i := range latest.Clusters {
		name := latest.Clusters[i].Name
		if !slices.Contains(in.decision.UnusedMoves, name) {
			continue
		}
		member := &v1.MemberCluster{}
		if err := r.reader.Get(ctx, client.ObjectKey{Name: name}, member); err != nil {
			return client.IgnoreNotFound(fmt.Errorf("getting MemberCluster %q: %w", name, err)) // The watch delivers that.
		}
		latest.Clusters[i] = placement.ClusterOf(member.Located(app.Status.EntryOf(name)), in.Now.Time)
	}
	decision, err := placement.Decide(latest)
	if err != nil {
		return fmt.Errorf("deciding the placement: %w", err)
	}
	removeMoves(app, func(name string) bool { return slices.Contains(decision.UnusedMoves, name) })
	return nil
}

// removeMoves removes clusters from the annotation, if it lists any.
func removeMoves(app *v1.EcommerceApp, remove func(name string) bool) {
	listed := app.Annotations[v1.MoveEmptyAnnotation]
	var kept []string
	for name := range strings.SplitSeq(listed, ",") {
		if !remove(strings.TrimSpace(name)) {
			kept = append(kept, name)
		}
	}
	if listed == "" || strings.Join(kept, ",") == listed {
		return
	}
	app.Annotations[v1.MoveEmptyAnnotation] = strings.Join(kept, ",")
	if len(kept) == 0 {
		delete(app.Annotations, v1.MoveEmptyAnnotation)
	}
}
