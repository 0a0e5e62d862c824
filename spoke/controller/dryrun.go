package controller

import (
	"context"
	"fmt"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/controller/reconciler"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// DryRun returns what would be written of the children of a copy in a cluster whose copies this
// process reconciles; for another one the error wraps apierror.ErrNotConnected. Nothing is written.
func (r *ClusterRunner) DryRun(ctx context.Context, name string, t reconciler.DryRunRequest[*v1.EcommerceApp]) ([]v1.PlannedChange, error) {
	r.mu.Lock()
	m := r.running[name]
	r.mu.Unlock()
	if m == nil {
		return nil, fmt.Errorf("planning in %q: %w", name, apierror.ErrNotConnected)
	}
	select {
	case <-m.optional.discovered: // Until then an optional kind would be taken for absent.
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the kinds of %q: %w", name, ctx.Err())
	}
	dry := *m.Member
	dry.Applier = newApplier(m.cluster, r.options, true)
	return EcommerceApp().DryRun(ctx, &dry, t)
}
