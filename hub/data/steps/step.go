package steps

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Step is a part of the work on an object. What it has done is in the status, in the
// member or in the cloud, so that it can be repeated; once it is complete it does nothing.
type Step struct {
	Name string
	// Run does what can be done now. The zero Result means that the step is complete. An
	// error is one of the hub's API server.
	Run func(context.Context) (Result, error)
}

// Advance runs steps in their order, up to the first that is not complete.
func Advance(ctx context.Context, steps []Step) (Result, error) {
	for _, s := range steps {
		result, err := s.Run(ctx)
		if err != nil {
			return Result{}, err
		}
		if result.Stops() {
			log.FromContext(ctx).V(1).Info("Step is not complete", "step", s.Name, "reason", result.Reason, "message", result.Message)
			return result, nil
		}
	}
	return Result{}, nil
}
