package reconciler

import (
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// Member is a cluster, as the reconcilers of all kinds share it.
type Member struct {
	// Name is the name in the fleet; empty outside one.
	Name     string
	Settings Settings
	Scheme   *runtime.Scheme
	// Client writes, Reader reads from a cache that holds what CacheOptions says.
	Client   client.Client
	Reader   client.Reader
	Applier  *apply.Applier
	Recorder events.EventRecorder
	// Facts tells what is known of the cluster now.
	Facts func() render.Cluster
	// Children returns the kinds of children that the cluster has now, with
	// those that a kind adds.
	Children func(extra []client.Object) []Child
}

// Child is a kind of children, and where to read it.
type Child struct {
	Kind   schema.GroupVersionKind
	Reader client.Reader
}

// Settings are how applications are reconciled.
type Settings struct {
	// Metrics may be nil.
	Metrics *Metrics
	// Timeout is the deadline of each request.
	Timeout time.Duration
	// RetryAfter is when what a person has to mend is tried again.
	RetryAfter time.Duration
	// Resync is when an application is looked at although nothing happened.
	Resync time.Duration
	// Clock is the source of time, Random that of secrets.
	Clock  clock.Clock
	Random io.Reader
}
