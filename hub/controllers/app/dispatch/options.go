package dispatch

import (
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// controllerName is the name of the members' queues in logs and metrics.
const controllerName = "ecommerceapp-copies"

const (
	defaultWorkers     = 4
	defaultCallTimeout = 10 * time.Second
)

// Options are what lanes work with.
type Options struct {
	// Clock tells the time; the default is the real one.
	Clock clock.PassiveClock
	// Logger is where the queues of members log; the default is nowhere.
	Logger logr.Logger
	// Recorder records events on applications. Required.
	Recorder events.EventRecorder
	// FanOut observes, by cluster, how long a generation of an application took to
	// get there. Required.
	FanOut *prometheus.HistogramVec
	// CallTimeout bounds each request to a member. The default is 10 s.
	CallTimeout time.Duration
	// Workers is how many copies are written at a time in each member. The default is 4.
	Workers int
	// Home tells, when a member is engaged, where its copies are turned into
	// workloads. The default is in the hub, for all.
	ManagedByMode func(cluster string) v1.ManagedByMode
}

func (o *Options) applyDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = defaultCallTimeout
	}
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.ManagedByMode == nil {
		o.ManagedByMode = func(string) v1.ManagedByMode { return v1.ManagedByHub }
	}
}

// Subject is what an event about one cluster relates to: events that differ in
// nothing but their note would be counted as one.
func Subject(name string) *v1.MemberCluster {
	return &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func requestFor(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}
