package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

var errShuttingDown = errors.New("shutting down")

// AddProbes adds a liveness check that always succeeds, and a readiness check that fails
// once ctx is done, before anything else shuts down.
func AddProbes(ctx context.Context, m manager.Manager) error {
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := m.AddReadyzCheck("shutdown", until(ctx)); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}

// until returns a check that fails once ctx is done.
func until(ctx context.Context) healthz.Checker {
	return func(*http.Request) error {
		if ctx.Err() != nil {
			return errShuttingDown
		}
		return nil
	}
}
