package plan

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/placement"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/spoke/controller/reconciler"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	controllerName = "plan"
	// workers is the number of Plans that are answered at a time. Each waits for members, by its
	// deadline.
	workers = 8
	// lifetime is how long a Plan exists after it was answered.
	lifetime = 5 * time.Minute
	// deadline bounds the time that members have to answer.
	deadline = 20 * time.Second
)

// Placed is an application as it would be dispatched, with the decision about it.
type Placed struct {
	// App has the status that follows from the decision.
	App *v1.EcommerceApp
	// Results are the decisions about clusters, sorted; empty if none is possible.
	Results []placement.Result
	// Rollout defines in which order the clusters change; nil if they do at once. Clusters are the facts that it
	// decides by.
	Rollout  *v1.Rollout
	Clusters []rollout.Cluster
	// Problem says in which respect the placement is not as the spec says; empty if it is.
	Problem string
}

// Options configure the controller.
type Options struct {
	// Place decides about an application that need not exist. Required.
	Place func(context.Context, *v1.EcommerceApp) (Placed, error)
	// Copies returns the queue of a member that is connected, or nil. Required.
	Copies func(cluster string) *copies.MemberQueue
	// Propagation answers for what is propagated. Required.
	Propagation *propagate.Dispatcher
	// Children returns what would be written of the children of a copy. Required.
	Children func(ctx context.Context, cluster string, t reconciler.DryRunRequest[*v1.EcommerceApp]) ([]v1.PlannedChange, error)
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
	// Waits changes how long the controller waits; the default leaves it as it is.
	Waits retry.Waits
}

// Setup adds the controller to the hub's own manager, whose cache holds Plans and MemberClusters.
func Setup(mgr ctrl.Manager, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	r := &Reconciler{client: mgr.GetClient(), reader: mgr.GetAPIReader(), options: o}
	err := builder.ControllerManagedBy(mgr).
		Named(controllerName).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		For(&v1.Plan{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the controller of plans: %w", err)
	}
	return nil
}

// Reconciler answers Plans. It is safe for concurrent use.
type Reconciler struct {
	client client.Client
	// reader reads from the API server.
	reader  client.Reader
	options Options
}
