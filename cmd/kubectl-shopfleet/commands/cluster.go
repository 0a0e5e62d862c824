package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watchuntil"
)

// requestTimeout is the deadline of each request unless --request-timeout sets another.
const requestTimeout = 15 * time.Second

// cluster is a connection to a cluster.
type cluster struct {
	config *rest.Config
	scheme *runtime.Scheme
	// client has a deadline for each request.
	client client.Client
}

func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme, authenticationv1.AddToScheme,
		coordinationv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("creating the scheme: %w", err)
		}
	}
	return s, nil
}

// hub connects to the cluster that the flags choose.
func (p *Program) hub() (*cluster, error) {
	config, err := p.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the hub: %w", err)
	}
	return p.connect(config)
}

// connect creates a client; it sends no request yet.
func (p *Program) connect(config *rest.Config) (*cluster, error) {
	config = rest.CopyConfig(config)
	if config.Timeout == 0 {
		config.Timeout = requestTimeout
	}
	// The API server limits clients. A limit here fails before a deadline that it would not meet, with
	// an error that is no timeout.
	config.QPS = -1
	config.UserAgent = program + "/" + p.version
	config.WarningHandler = rest.NewWarningWriter(p.streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", config.Host, err)
	}
	return &cluster{config: config, scheme: scheme, client: c}, nil
}

// query returns a watch of the cluster. The caller sets the list and its options.
func (c *cluster) query(report func(error)) (watchuntil.Query, error) {
	endless := rest.CopyConfig(c.config)
	endless.Timeout = 0
	watcher, err := client.NewWithWatch(endless, client.Options{Scheme: c.scheme, Mapper: c.client.RESTMapper()})
	if err != nil {
		return watchuntil.Query{}, fmt.Errorf("creating a client for %s: %w", c.config.Host, err)
	}
	return watchuntil.Query{Lister: c.client, Watcher: watcher, Report: report}, nil
}

// namespaceFlag returns the namespace of --namespace or of the context.
func (p *Program) namespaceFlag() (string, error) {
	namespace, _, err := p.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the namespace: %w", err)
	}
	return namespace, nil
}

// fleetApp returns an EcommerceApp of the namespace that the user chose, and all MemberClusters.
func (p *Program) fleetApp(ctx context.Context, hub *cluster, name string) (*v1.EcommerceApp, []v1.MemberCluster, error) {
	namespace, err := p.namespaceFlag()
	if err != nil {
		return nil, nil, err
	}
	app, members := &v1.EcommerceApp{}, &v1.MemberClusterList{}
	err = p.during("waiting for the hub at "+hub.config.Host, func() error {
		if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
			return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
		}
		if err := hub.client.List(ctx, members); err != nil {
			return fmt.Errorf("listing MemberClusters: %w", err)
		}
		return nil
	})
	return app, members.Items, err
}

// memberFlags are the flags for the user's access to a member.
type memberFlags struct {
	kubeconfig, context string
}

func (m *memberFlags) add(cmd *cobra.Command, use string) {
	cmd.Flags().StringVar(&m.kubeconfig, "member-kubeconfig", "", "Kubeconfig of an administrator of the member; "+use)
	cmd.Flags().StringVar(&m.context, "member-context", "", "Context in it; default: its current one")
}

// connect connects to the member with the user's credentials.
func (m *memberFlags) connect(p *Program) (*cluster, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: m.kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: m.context},
	).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the member: %w", err)
	}
	return p.connect(config)
}
