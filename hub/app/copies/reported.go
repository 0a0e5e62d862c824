package copies

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Report takes the status of a copy that its reconciler, in this process, is about to write or, in a
// member that is paused, would have written. The status on the hub then need not wait for the write,
// and for the watch that tells of it. It does not block.
func (d *Dispatcher) Report(ctx context.Context, cluster string, object client.Object) {
	app, ok := object.(*v1.EcommerceApp)
	if m := d.Get(cluster); ok && m != nil {
		m.report(ctx, app)
		m.wake.Add(requestFor(app))
	}
}

// report keeps the status of a copy while the cache has the copy. A reconciler may hand over the
// status of a copy that has changed, or gone, since it was read.
func (l *MemberQueue) report(ctx context.Context, copied *v1.EcommerceApp) {
	l.reported.set(copied)
	live := &v1.EcommerceApp{}
	err := l.cluster.GetClient().Get(ctx, keyOf(copied), live, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err) || err == nil && live.UID != copied.UID:
		l.reported.forget(copied.UID)
	case err == nil:
		l.reported.see(live)
	}
}

// reportedStatuses are the statuses of the copies in one member that their reconciler handed over.
// They are safe for concurrent use.
type reportedStatuses struct {
	// paused means that they are never written: they count until they are replaced.
	paused bool

	mu    sync.Mutex
	known map[types.UID]reportedStatus
}

// reportedStatus is a status and the version of the copy that it is about to replace.
type reportedStatus struct {
	status  *v1.EcommerceAppStatus
	version string
}

func newReportedStatuses(paused bool) *reportedStatuses {
	return &reportedStatuses{paused: paused, known: map[types.UID]reportedStatus{}}
}

func (r *reportedStatuses) set(copied *v1.EcommerceApp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[copied.UID] = reportedStatus{copied.Status.DeepCopy(), copied.ResourceVersion}
}

// see forgets the status of a copy if the cache has another version than the one that it replaces:
// that with the status, or that of another write, after which there is another status. It reports
// whether the cache has the status.
func (r *reportedStatuses) see(live *v1.EcommerceApp) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.known[live.UID]
	if !known || r.paused || last.version == live.ResourceVersion {
		return false
	}
	delete(r.known, live.UID)
	return equality.Semantic.DeepEqual(last.status, &live.Status)
}

func (r *reportedStatuses) forget(copied types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, copied)
}

// of returns the status of a copy as the cache has it, or nil if that is what counts. It must not be
// changed.
func (r *reportedStatuses) of(live *v1.EcommerceApp) *v1.EcommerceAppStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.known[live.UID]; r.paused || last.version == live.ResourceVersion {
		return last.status
	}
	return nil
}
