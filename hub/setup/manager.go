package setup

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members"
	spoke "github.com/shopfleet/shopfleet/spoke/controller"
)

// leaseName is the name of the Lease for leader election.
const leaseName = "shopfleet-hub"

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// newManager returns a manager that uses lease for its Lease and cfg for all else.
func (o *Options) newManager(cfg, lease *rest.Config, fleet *members.Fleet) (mcmanager.Manager, error) {
	options, err := o.managerOptions(cfg, lease)
	if err != nil {
		return nil, err
	}
	mgr, err := mcmanager.New(cfg, fleet, options)
	if err != nil {
		return nil, fmt.Errorf("building the manager: %w", err)
	}
	return mgr, nil
}

func (o *Options) managerOptions(cfg, lease *rest.Config) (manager.Options, error) {
	scheme, err := newScheme()
	if err != nil {
		return manager.Options{}, err
	}
	caching, err := o.cacheOptions()
	if err != nil {
		return manager.Options{}, err
	}
	bounded, err := boundedClient(cfg)
	if err != nil {
		return manager.Options{}, err
	}
	options := manager.Options{
		Scheme: scheme,
		Cache:  caching,
		// The client has a request timeout, which would end the watches of the cache; so
		// they use separate HTTP clients.
		Client:                  client.Options{HTTPClient: bounded},
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: o.Namespace,
		LeaderElectionLabels:    v1.VersionLabels(o.Version),
		LeaderElectionConfig:    lease,
		// Tests run several hubs in one process.
		Controller: controllerconfig.Controller{SkipNameValidation: new(true)},
	}
	if err := o.Configure(&options); err != nil {
		return manager.Options{}, fmt.Errorf("configuring the manager: %w", err)
	}
	return options, nil
}

// cacheOptions restricts the cached Secrets to registrations, and the cached ConfigMaps to
// the records about members.
func (o *Options) cacheOptions() (cache.Options, error) {
	registered, err := labels.NewRequirement(v1.MemberClusterLabel, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, fmt.Errorf("selecting registrations: %w", err)
	}
	recorded, err := labels.NewRequirement(v1.MemberRecordLabel, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, fmt.Errorf("selecting records about members: %w", err)
	}
	return cache.Options{
		DefaultTransform: spoke.NewTransform(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {
				Namespaces: map[string]cache.Config{o.Namespace: {}},
				Label:      labels.NewSelector().Add(*registered),
			},
			&corev1.ConfigMap{}: {
				Namespaces: map[string]cache.Config{o.Namespace: {}},
				Label:      labels.NewSelector().Add(*recorded),
			},
		},
	}, nil
}

func boundedClient(cfg *rest.Config) (*http.Client, error) {
	c, err := rest.HTTPClientFor(withTimeout(cfg))
	if err != nil {
		return nil, fmt.Errorf("creating the hub's client: %w", err)
	}
	return c, nil
}

// withTimeout returns a configuration with a request timeout.
func withTimeout(cfg *rest.Config) *rest.Config {
	c := rest.CopyConfig(cfg)
	c.Timeout = requestTimeout
	return c
}
