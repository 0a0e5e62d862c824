package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

var errEnding = errors.New("told to end")

// AddProbes makes a process alive as long as it answers, and ready until its
// context ends: that comes before anything else of it ends.
func AddProbes(ctx context.Context, m manager.Manager) error {
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := m.AddReadyzCheck("ending", until(ctx)); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}

// until passes until the context ends.
func until(ctx context.Context) healthz.Checker {
	return func(*http.Request) error {
		if ctx.Err() != nil {
			return errEnding
		}
		return nil
	}
}
