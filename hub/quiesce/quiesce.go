package quiesce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/podexec"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/manifest"
)

const (
	// defaultTimeout is enough for a checkpoint of a slow disk, or to wait for a lock.
	defaultTimeout = 30 * time.Second
	// hold is the time after which the command in the pod ends by itself.
	hold = time.Minute
	// grace is how long a stream may take to end after the command's own limit.
	grace = 5 * time.Second
)

// Errors of Quiesce, which are wrapped. Other causes are errors of the member's API.
var (
	// ErrNoDatabase means that the application has no database.
	ErrNoDatabase = errors.New("the application has no database")
	// ErrForeign means that a pod with the name of the database's does not belong to the
	// application.
	ErrForeign = errors.New("the pod is not the application's database")
	// ErrNotReady means that the database is not ready, or is being stopped.
	ErrNotReady = errors.New("the database is not ready")
	// ErrSilent means that the command ended without confirmation.
	ErrSilent = errors.New("the quiesce command did not confirm")
)

// Options configure a Quiescer.
type Options struct {
	// Timeout bounds Quiesce. The default, for zero, is 30 s.
	Timeout time.Duration
	// Logger logs databases that released themselves before the caller did.
	Logger logr.Logger
}

// Quiescer quiesces databases. It is safe for concurrent use.
type Quiescer struct {
	options Options
}

// New returns a Quiescer.
func New(options Options) *Quiescer {
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	return &Quiescer{options: options}
}

// Quiesce quiesces the database of an application's copy in a member within
// Options.Timeout. The database stays quiesced until release is called, but not for
// longer than a minute. Without an error, release is not nil; it may be called more than
// once and takes at most five seconds.
//
// An error means that the database is not quiesced. What may be held is being released,
// at the latest after a minute if the pod cannot be reached. The error wraps
// ErrNoDatabase, ErrForeign, ErrNotReady, ErrSilent, an error of the member's API such as
// NotFound or Forbidden, or the error of the context.
func (q *Quiescer) Quiesce(ctx context.Context, in cluster.Cluster, app *v1.EcommerceApp) (release func(), err error) {
	if app.Spec.Database == nil {
		return nil, ErrNoDatabase
	}
	key := client.ObjectKey{Namespace: app.Namespace, Name: render.DatabasePod(app.Name)}
	command, err := database.QuiesceCommand(app.Spec.Database.Engine, hold)
	if err != nil {
		return nil, fmt.Errorf("quiescing the database in pod %q: %w", key, err)
	}
	waiting, cancel := context.WithTimeout(ctx, q.options.Timeout)
	defer cancel()
	if err := usable(waiting, in, key, app); err != nil {
		return nil, fmt.Errorf("finding the database in pod %q: %w", key, err)
	}
	run, err := podexec.New(in, podexec.Container{Pod: key, Name: database.Container}, command)
	if err != nil {
		return nil, fmt.Errorf("quiescing the database in pod %q: %w", key, err)
	}
	s := open(context.WithoutCancel(ctx), run)
	if err := s.await(waiting); err != nil {
		s.abandon()
		return nil, fmt.Errorf("quiescing the database in pod %q: %w", key, err)
	}
	// A checkpoint is complete by now; a lock must still be held.
	holds := app.Spec.Database.Engine == v1.EngineMySQL
	return func() {
		if early := s.end(); early && holds {
			q.options.Logger.Info("Database released itself before its snapshot was taken", "pod", key)
		}
	}, nil
}

// usable returns an error unless the pod belongs to the database and is ready.
func usable(ctx context.Context, in cluster.Cluster, key client.ObjectKey, app *v1.EcommerceApp) error {
	pod := &corev1.Pod{}
	// Reads are not cached: the pods of a member are not watched.
	if err := in.GetAPIReader().Get(ctx, key, pod); err != nil {
		return err
	}
	want := map[string]string{
		v1.ManagedByLabel: v1.ManagedBy, v1.ComponentLabel: database.Component, v1.InstanceLabel: manifest.LabelValue(app.Name),
	}
	for label, value := range want {
		if pod.Labels[label] != value {
			return fmt.Errorf("%w: its label %s is %q, want %q", ErrForeign, label, pod.Labels[label], value)
		}
	}
	if pod.DeletionTimestamp != nil {
		return fmt.Errorf("%w: its pod is being deleted", ErrNotReady)
	}
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == database.Container && s.Ready {
			return nil
		}
	}
	return fmt.Errorf("%w: its container %s is not", ErrNotReady, database.Container)
}
