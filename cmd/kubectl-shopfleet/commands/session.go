package commands

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/backups"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/processes"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watch"
)

const (
	// requestTimeout bounds each request where --request-timeout does not.
	requestTimeout = 15 * time.Second
	// patience is how long something may take before a line says what it is.
	patience = 2 * time.Second
	// reminder is the time between further lines.
	reminder = 10 * time.Second
)

// session is what the commands of one run share.
type session struct {
	streams   genericiooptions.IOStreams
	version   string
	flags     *genericclioptions.ConfigFlags
	clock     clock.WithTicker
	namespace string
}

// cluster is a connection to a cluster.
type cluster struct {
	config *rest.Config
	scheme *runtime.Scheme
	// client has a deadline for each request.
	client client.Client
}

func scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme, authenticationv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("making the scheme: %w", err)
		}
	}
	return s, nil
}

// hub connects to the cluster that the flags choose.
func (s *session) hub() (*cluster, error) {
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the hub: %w", err)
	}
	return s.connect(config)
}

// connect makes the clients; it sends no request yet.
func (s *session) connect(config *rest.Config) (*cluster, error) {
	config = rest.CopyConfig(config)
	if config.Timeout == 0 {
		config.Timeout = requestTimeout
	}
	config.UserAgent = program + "/" + s.version
	config.WarningHandler = rest.NewWarningWriter(s.streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	kinds, err := scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: kinds})
	if err != nil {
		return nil, fmt.Errorf("making a client of %s: %w", config.Host, err)
	}
	return &cluster{config: config, scheme: kinds, client: c}, nil
}

// query follows objects of the cluster; what to list is the caller's.
func (s *session) query(c *cluster, trouble func(error)) (watch.Query, error) {
	endless := rest.CopyConfig(c.config)
	endless.Timeout = 0
	watcher, err := client.NewWithWatch(endless, client.Options{Scheme: c.scheme, Mapper: c.client.RESTMapper()})
	if err != nil {
		return watch.Query{}, fmt.Errorf("making a client of %s: %w", c.config.Host, err)
	}
	return watch.Query{Lister: c.client, Watcher: watcher, Clock: s.clock, Trouble: trouble}, nil
}

// processes have commands of their own, for the cluster that the flags choose.
func (s *session) processes() processes.Session {
	return processes.Session{
		Streams: s.streams, Version: s.version, Flags: s.flags, Namespace: &s.namespace, During: s.during,
		Connect: func() (processes.Target, error) {
			at, err := s.hub()
			if err != nil {
				return processes.Target{}, err
			}
			query, err := s.query(at, s.trouble)
			return processes.Target{Host: at.config.Host, Client: at.client, Query: query}, err
		},
	}
}

// backups have commands of their own, too.
func (s *session) backups() backups.Session {
	return backups.Session{
		Streams: s.streams, Flags: s.flags, Clock: s.clock, During: s.during, Usage: usage, CompleteApps: s.completeApps,
		Connect: func() (backups.Target, error) {
			at, err := s.processes().Connect()
			return backups.Target(at), err
		},
	}
}

// say writes a line for people.
func (s *session) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.streams.ErrOut, format+"\n", args...)
}

// during runs a step, and says what it is when it takes long.
func (s *session) during(what string, step func() error) error {
	done := make(chan struct{})
	said := make(chan struct{})
	begin := s.clock.Now()
	timer := s.clock.NewTimer(patience)
	go func() {
		defer close(said)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C():
				s.say("%s ... (%s)", what, s.clock.Since(begin).Round(time.Second))
				timer.Reset(reminder)
			}
		}
	}()
	err := step()
	close(done)
	<-said
	return err
}
