package reconciler

import (
	"context"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// Member is a cluster, shared by the reconcilers of all kinds. It is safe for concurrent
// use.
type Member struct {
	// Name is the name of the member in the fleet; empty without a hub.
	Name     string
	Settings Settings
	Scheme   *runtime.Scheme
	// Client is used for writes, Reader reads from a cache configured by CacheOptions.
	Client client.Client
	Reader client.Reader
	// APIReader reads from the API server what has not our label.
	APIReader client.Reader
	Applier   *apply.Applier
	Recorder  events.EventRecorder
	// Progress paces the writes of mere progress to statuses.
	Progress *retry.Progress
	// Exec runs a command in a container.
	Exec func(context.Context, podexec.Container, podexec.Command) (string, error)
	// Facts returns the current facts about the cluster.
	Facts func() render.Cluster
	// Paused is true if no child is written, whatever the applications say.
	Paused bool
	// OnStatus receives each object with the status that is about to be written or, if Paused is
	// true, is not written. It must not block. Nil writes the statuses of those that are paused too.
	OnStatus func(context.Context, client.Object)
	// Children returns the kinds of children that the cluster serves now, including the
	// additional ones of a kind.
	Children func(extra []client.Object) []Child
}

// Child is a kind of children with its reader.
type Child struct {
	Kind   schema.GroupVersionKind
	Reader client.Reader
	// Partial means that the reader has the metadata of the objects only.
	Partial bool
	// ReadOnly means that the objects are others', which are read by name, and no children.
	ReadOnly bool
}

// Settings configure the reconcilers.
type Settings struct {
	// Metrics may be nil.
	Metrics *Metrics
	// Timeout bounds each request.
	Timeout time.Duration
	// Waits changes how long the reconcilers wait.
	Waits retry.Waits
	// Clock is the time source, Random the source of generated secrets.
	Clock  clock.Clock
	Random io.Reader
}
