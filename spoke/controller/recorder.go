package controller

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	eventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// recorder records events in one cluster. Its broadcaster starts with the first event, as a
// cluster without applications has none: it takes five goroutines and a queue of 32 KiB. That of
// controller-runtime starts another one for the former API of events, and logs both. It is safe for
// concurrent use.
type recorder struct{ started func() events.EventRecorder }

// newRecorder returns a recorder whose broadcaster ends with ctx. Later events are dropped.
func newRecorder(ctx context.Context, cl cluster.Cluster, logger logr.Logger) (events.EventRecorder, error) {
	c, err := eventsv1.NewForConfigAndClient(cl.GetConfig(), cl.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating a client of events: %w", err)
	}
	return recorder{sync.OnceValue(func() events.EventRecorder {
		broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: c})
		if err := broadcaster.StartRecordingToSinkWithContext(logr.NewContext(ctx, logger)); err != nil {
			logger.Error(err, "Cannot record events")
		}
		context.AfterFunc(ctx, broadcaster.Shutdown)
		return broadcaster.NewRecorder(cl.GetScheme(), "shopfleet-spoke")
	})}, nil
}

// Eventf implements events.EventRecorder.
func (r recorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.started().Eventf(regarding, related, eventtype, reason, action, note, args...)
}
