package setup

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/app"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/accounts/controller"
	"github.com/shopfleet/shopfleet/hub/data/backup"
	"github.com/shopfleet/shopfleet/hub/data/backup/scheduler"
	"github.com/shopfleet/shopfleet/hub/data/rediscover"
	"github.com/shopfleet/shopfleet/hub/data/restore"
	"github.com/shopfleet/shopfleet/hub/data/storageclasses"
)

const (
	// serviceAccount is the hub's ServiceAccount, whose tokens providers exchange for credentials.
	serviceAccount = "shopfleet-hub"
	// tokenSeconds is the lifetime of these tokens.
	tokenSeconds = 3600
)

// clouds wires the controllers that use cloud accounts.
type clouds struct {
	hub      *hub
	recorder events.EventRecorder
	storage  *storageclasses.Storage
	accounts *accounts.Accounts
	// secrets caches the credentials of accounts. It is separate because one cache has one
	// label selector for all Secrets.
	secrets cache.Cache
	metrics *scheduler.Metrics
	// apps writes the status of applications.
	apps *app.Controller
}

func (h *hub) newClouds(cfg *rest.Config, recorder events.EventRecorder, apps *app.Controller) (*clouds, error) {
	local := h.mgr.GetLocalManager()
	secrets, err := cache.New(cfg, cache.Options{
		Scheme: local.GetScheme(), Mapper: local.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{h.options.Namespace: {}},
			Label:      labels.SelectorFromSet(labels.Set{v1.CloudAccountLabel: "true"}),
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("creating the cache of credentials: %w", err)
	}
	if err := local.Add(secrets); err != nil {
		return nil, fmt.Errorf("adding the cache of credentials: %w", err)
	}
	tokens, err := h.tokens(cfg)
	if err != nil {
		return nil, err
	}
	requests := accounts.NewRequests()
	if err := h.registry.Register(requests); err != nil {
		return nil, fmt.Errorf("registering the metrics of clouds: %w", err)
	}
	planned, err := scheduler.NewMetrics(h.registry, clock.RealClock{})
	if err != nil {
		return nil, err
	}
	return &clouds{
		hub: h, recorder: recorder, secrets: secrets, metrics: planned, apps: apps,
		storage: storageclasses.New(local.GetClient(), storageclasses.Options{
			Recorder: recorder, Logger: h.options.Logger.WithName("storage"), Revisions: h.revisions, Waits: h.options.Waits,
		}),
		accounts: accounts.New(accounts.Options{
			Registry: h.options.Clouds, Buckets: h.options.Buckets, Token: tokens, Requests: requests,
			Fence: h.fence.WrapCloud, SafeMode: h.options.SafeMode,
		}),
	}, nil
}

// tokens returns a source of short-lived tokens of the hub's ServiceAccount.
func (h *hub) tokens(cfg *rest.Config) (cloud.TokenSource, error) {
	clientset, err := kubernetes.NewForConfig(withTimeout(cfg))
	if err != nil {
		return nil, fmt.Errorf("creating a client for tokens: %w", err)
	}
	namespace := h.options.Namespace
	return func(ctx context.Context, audience string) (string, error) {
		made, err := clientset.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: new(int64(tokenSeconds))},
		}, metav1.CreateOptions{})
		if err != nil {
			return "", fmt.Errorf("creating a token for ServiceAccount %s/%s: %w", namespace, serviceAccount, err)
		}
		return made.Status.Token, nil
	}, nil
}

// setup adds the controllers. The API server must serve their kinds.
func (c *clouds) setup(ctx context.Context) error {
	local, logger, waits := c.hub.mgr.GetLocalManager(), c.hub.options.Logger, c.hub.options.Waits
	steps := []func(ctrl.Manager) error{
		func(mgr ctrl.Manager) error { return c.storage.Setup(ctx, mgr) },
		func(mgr ctrl.Manager) error {
			return controller.Setup(mgr, controller.Options{
				Namespace: c.hub.options.Namespace, HubUID: c.hub.uid, Accounts: c.accounts, Secrets: c.secrets,
				Recorder: c.recorder, Logger: logger.WithName("accounts"), Waits: waits,
			})
		},
		func(mgr ctrl.Manager) error {
			return scheduler.Setup(ctx, mgr, scheduler.Options{
				HubUID: c.hub.uid, Recorder: c.recorder, Metrics: c.metrics, Skew: c.accounts.Skew,
				SetBackups: c.apps.SetBackups, Compared: c.apps.Dispatcher().Compared, Waits: waits,
				SafeMode: c.hub.options.SafeMode,
			})
		},
		func(mgr ctrl.Manager) error {
			return backup.Setup(ctx, mgr, backup.Options{
				HubUID: c.hub.uid, Accounts: c.accounts, Member: c.hub.fleet.Get, Members: c.hub.fleet.Connections(),
				SpokeImage: c.hub.options.SpokeImage, SafeMode: c.hub.options.SafeMode, Clock: c.hub.options.Clock,
				Recorder: c.recorder, Logger: logger.WithName("backups"), Revisions: c.hub.revisions, Waits: waits,
			})
		},
		func(mgr ctrl.Manager) error {
			return rediscover.Setup(mgr, rediscover.Options{
				HubUID: c.hub.uid, Accounts: c.accounts, Recorder: c.recorder, Logger: logger.WithName("rediscovery"), Waits: waits,
			})
		},
		func(mgr ctrl.Manager) error {
			return restore.Setup(ctx, mgr, restore.Options{
				Accounts: c.accounts, Member: c.hub.fleet.Get, Members: c.hub.fleet.Connections(),
				SpokeImage: c.hub.options.SpokeImage, Clock: c.hub.options.Clock,
				Recorder: c.recorder, Logger: logger.WithName("restores"), Revisions: c.hub.revisions, Waits: waits,
			})
		},
	}
	for _, add := range steps {
		if err := add(local); err != nil {
			return err
		}
	}
	return nil
}

// withStorage adds the objects that package storageclasses watches in members.
func withStorage(o cache.Options) cache.Options {
	if o.ByObject == nil {
		o.ByObject = map[client.Object]cache.ByObject{}
	}
	for _, object := range storageclasses.Watched() {
		o.ByObject[object] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1.ManagedByLabel: v1.ManagedBy})}
	}
	return o
}
