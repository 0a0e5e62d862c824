package setup

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/hub/app"
	appcopies "github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/plan"
	"github.com/shopfleet/shopfleet/hub/app/recovery/store"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/hub/data/storageclasses"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/hub/members/controller"
	hubmetrics "github.com/shopfleet/shopfleet/hub/metrics"
	spoke "github.com/shopfleet/shopfleet/spoke/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/fencing"
	"github.com/shopfleet/shopfleet/spoke/runtime/manager"
)

const (
	// requestTimeout bounds a request to the hub's API server.
	requestTimeout = 30 * time.Second
	// retryPeriod is the time between attempts to reach the API server at the start.
	retryPeriod = 2 * time.Second
)

// Main runs the hub as a process until ctx is done. It returns an error if the hub could
// not start, or lost its Lease.
func Main(ctx context.Context, o Options) error {
	if err := o.UseLogger(os.Stderr); err != nil {
		return err
	}
	return Run(ctx, o)
}

// Run runs the hub until ctx is done.
func Run(ctx context.Context, o Options) error {
	cfg, err := o.restConfig()
	if err != nil {
		return err
	}
	fence := o.Fence()
	cfg.Wrap(fence.Wrap)
	uid, err := o.hubUID(ctx, cfg)
	if ctx.Err() != nil {
		return nil // Stopped before the start.
	}
	if err != nil {
		return err
	}
	fleet, err := o.newFleet(uid, fence)
	if err != nil {
		return err
	}
	opened := make(chan struct{})
	mgr, err := o.newManager(cfg, heldUntil(opened, cfg), fleet)
	if err != nil {
		return err
	}
	h := &hub{options: o, mgr: mgr, fleet: fleet, fence: fence, opened: opened, uid: uid, registry: prometheus.NewRegistry()}
	if err := h.compose(ctx, cfg); err != nil {
		return err
	}
	served := o.Registry
	if served == nil {
		served = metrics.Registry
	}
	if err := served.Register(h.registry); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	defer served.Unregister(h.registry)
	o.Logger.Info("Starting the hub", "version", o.Version, "namespace", o.Namespace)
	if o.SpokeImage == "" {
		o.Logger.Info("Dumps are not transferred to or from buckets because --spoke-image is not set")
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the hub: %w", err)
	}
	return nil
}

// hubUID returns the UID of the hub's own cluster. It blocks until the API server
// answers.
func (o *Options) hubUID(ctx context.Context, cfg *rest.Config) (string, error) {
	clientset, err := kubernetes.NewForConfig(withTimeout(cfg))
	if err != nil {
		return "", fmt.Errorf("creating the hub's client: %w", err)
	}
	var uid string
	err = wait.PollUntilContextCancel(ctx, retryPeriod, true, func(ctx context.Context) (bool, error) {
		namespace, err := clientset.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			o.Logger.Error(err, "Reading the namespace kube-system failed, retrying")
			return false, nil
		}
		uid = string(namespace.UID)
		return true, nil
	})
	if err != nil {
		return "", fmt.Errorf("identifying the hub's cluster: %w", err)
	}
	return uid, nil
}

// newFleet returns a fleet without members, whose requests the fence blocks.
func (o *Options) newFleet(hubUID string, fence *fencing.Fence) (*members.Fleet, error) {
	definition, err := config.Definition("ecommerce.io", "ecommerceapps")
	if err != nil {
		return nil, fmt.Errorf("loading the definition for members: %w", err)
	}
	rules, err := config.Member.Rules()
	if err != nil {
		return nil, fmt.Errorf("loading the role for members: %w", err)
	}
	rules = slices.DeleteFunc(rules, readsEvents)
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	agent, err := withAgent(definition)
	if err != nil {
		return nil, err
	}
	kind := spoke.EcommerceApp()
	return members.New(members.Options{
		HubUID: hubUID,
		Scheme: scheme,
		Logger: o.Logger.WithName("members"),
		Profile: members.Profile{
			CacheOptions: func() cache.Options { return withStorage(spoke.CacheOptions(kind)) },
			Watched:      func() []client.Object { return append(spoke.WatchedObjects(kind), storageclasses.Watched()...) },
			Prepare:      members.InstallDefinitions(definition),
			Permissions:  members.PermissionsFrom(rules),
		},
		Agent:    agent,
		Record:   client.ObjectKey{Namespace: config.Namespace, Name: config.HubRecord},
		Lease:    client.ObjectKey{Namespace: config.Namespace, Name: config.SpokeLease},
		Timeouts: o.Timeouts,
		Limits:   o.Limits,
		SafeMode: o.SafeMode,
		Wrap:     transport.Wrappers(o.Wrap, fence.Wrap),
		Periods: members.Periods{
			Retry: o.Waits.Scaled(members.DefaultRetry), Inspect: o.Waits.Scaled(members.DefaultInspect),
			Renew: o.Waits.Scaled(members.DefaultRenew), Pods: o.Waits.Scaled(members.DefaultPods),
		},
	}), nil
}

// readsEvents reports whether a rule is about reading events. It is optional, as members that joined an earlier
// release lack it: events say why pods are not created.
func readsEvents(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Resources, "events") && slices.Contains(rule.Verbs, "list")
}

// withAgent returns the profile for members that have an agent: the hub watches the
// copies, but not the objects that the agent creates for them.
func withAgent(definition *unstructured.Unstructured) (members.Profile, error) {
	rules, err := config.Agent.Rules()
	if err != nil {
		return members.Profile{}, fmt.Errorf("loading the role for members with an agent: %w", err)
	}
	namespaced, err := config.Agent.NamespacedRules()
	if err != nil {
		return members.Profile{}, fmt.Errorf("loading the role for members with an agent: %w", err)
	}
	rules = slices.DeleteFunc(rules, readsEvents)
	// Renewing the token is optional: a member that denies it is Ready.
	namespaced = slices.DeleteFunc(namespaced, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Resources, "serviceaccounts/token")
	})
	return members.Profile{
		CacheOptions: func() cache.Options {
			return withStorage(cache.Options{DefaultTransform: spoke.NewTransform(), NewInformer: spoke.NewInformer})
		},
		Watched:     func() []client.Object { return append(storageclasses.Watched(), &v1.EcommerceApp{}) },
		Prepare:     members.InstallDefinitions(definition),
		Permissions: slices.Concat(members.PermissionsFrom(rules), members.PermissionsIn(config.Namespace, namespaced)),
	}, nil
}

// hub holds the parts of the hub while they are wired.
type hub struct {
	options Options
	mgr     mcmanager.Manager
	fleet   *members.Fleet
	// fence blocks the writes of a process without the Lease; nil without leader election.
	fence *fencing.Fence
	// opened is closed once the hub may lead.
	opened chan struct{}
	// uid is the UID of the hub's cluster.
	uid string
	// registry holds the metrics of this hub.
	registry *prometheus.Registry
	// revisions says what clusters have of applications.
	revisions *revisions.Store
}

// compose adds everything to the manager: runnables that engage with members immediately,
// controllers once their definitions are served.
func (h *hub) compose(ctx context.Context, cfg *rest.Config) error {
	recorder := h.mgr.GetLocalManager().GetEventRecorder("shopfleet-hub")
	appMetrics, err := app.NewMetrics(h.registry)
	if err != nil {
		return err
	}
	if err := h.options.ReportSafeMode(h.registry); err != nil {
		return err
	}
	recorded, err := hubmetrics.NewMetrics(h.registry)
	if err != nil {
		return err
	}
	known := state.New(clock.RealClock{})
	h.revisions = revisions.New(h.mgr.GetLocalManager().GetClient(), h.mgr.GetLocalManager().GetAPIReader(), known)
	apps := app.New(h.mgr.GetLocalManager().GetClient(), app.Options{
		Logger: h.options.Logger.WithName("apps"), Recorder: recorder, Metrics: appMetrics,
		Fleet: h.fleet, SafeMode: h.options.SafeMode,
		Waits: h.options.Waits, ProgressPeriod: h.options.ProgressPeriod, Resync: h.options.Resync,
		Residue:   store.New(h.mgr.GetLocalManager().GetClient(), h.options.Namespace),
		APIReader: h.mgr.GetLocalManager().GetAPIReader(),
		Revisions: h.revisions, State: known, Rendering: h.options.rendering(),
	})
	spokes, err := h.newSpokes(apps.Dispatcher())
	if err != nil {
		return err
	}
	clouds, err := h.newClouds(cfg, recorder, apps)
	if err != nil {
		return err
	}
	orphans := controller.NewOrphans()
	for _, r := range []mcmanager.Runnable{apps.Dispatcher(), spokes, clouds.storage, orphans} {
		if err := h.mgr.Add(r); err != nil {
			return fmt.Errorf("adding a multi-cluster runnable: %w", err)
		}
	}
	gate, err := newGate(withTimeout(cfg), h.mgr.GetLocalManager().GetRESTMapper(), h.options.Logger, func(ctx context.Context) error {
		close(h.opened)
		// Before the first member is connected: its controller of storage needs an index.
		if err := apps.Setup(h.mgr); err != nil {
			return err
		}
		if err := clouds.setup(ctx); err != nil {
			return err
		}
		if err := controller.Setup(ctx, h.mgr.GetLocalManager(), controller.Options{
			Namespace: h.options.Namespace, Fleet: h.fleet, Recorder: recorder, Orphans: orphans, Waits: h.options.Waits,
		}); err != nil {
			return err
		}
		if err := h.setupPlans(apps, spokes); err != nil {
			return err
		}
		return recorded.Watch(ctx, h.mgr.GetLocalManager().GetCache())
	})
	if err != nil {
		return err
	}
	return h.serveHealth(ctx, gate)
}

// setupPlans adds the controller of Plans, which asks the controllers that write.
func (h *hub) setupPlans(apps *app.Controller, spokes *spokes) error {
	return plan.Setup(h.mgr.GetLocalManager(), plan.Options{
		Place: func(ctx context.Context, planned *v1.EcommerceApp) (plan.Placed, error) {
			decided, err := apps.DryRun(ctx, planned)
			return plan.Placed(decided), err
		},
		Copies: apps.Dispatcher().Get, Propagation: apps.Dispatcher().Propagation(), Children: spokes.DryRun, Waits: h.options.Waits,
	})
}

// newSpokes returns the runnable that reconciles copies in members without an agent.
// Its passes report statuses to the queues of the members.
func (h *hub) newSpokes(copies *appcopies.Dispatcher) (*spokes, error) {
	counted, err := spoke.NewMetrics(h.registry)
	if err != nil {
		return nil, fmt.Errorf("registering the metrics of members' applications: %w", err)
	}
	kind := spoke.EcommerceApp()
	if h.options.Templates != nil {
		kind = spoke.EcommerceAppWith(*h.options.Templates)
	}
	kind.Selects = func(app *v1.EcommerceApp) bool { return app.ManagedByMode() == v1.ManagedByHub }
	runner := spoke.NewClusterRunner(spoke.Options{
		Kinds:   []spoke.AnyKind{kind},
		Metrics: counted,
		Logger:  h.options.Logger.WithName("spoke"),
		Paused:  h.fleet.Paused, OnStatus: copies.ObserveStatus,
		Waits: h.options.Waits, RunbookURL: h.options.RunbookURL,
	})
	return &spokes{ClusterRunner: runner, fleet: h.fleet}, nil
}

// spokes reconciles copies in the members in mode Agentless.
type spokes struct {
	*spoke.ClusterRunner
	fleet *members.Fleet
}

// Engage reconciles the copies of a member until ctx is done, unless its agent does. The
// mode does not change while a member is connected.
func (s *spokes) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	if s.fleet.Mode(name.String()).ManagedBy() != v1.ManagedByHub {
		return nil
	}
	return s.ClusterRunner.Engage(ctx, name, cl)
}

func (h *hub) serveHealth(ctx context.Context, gate *gate) error {
	local := h.mgr.GetLocalManager()
	if err := local.Add(gate); err != nil {
		return fmt.Errorf("adding the gate: %w", err)
	}
	if err := manager.AddProbes(ctx, local); err != nil {
		return err
	}
	if err := local.AddReadyzCheck("definitions", gate.check); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}
