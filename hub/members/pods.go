package members

import (
	"context"

	"k8s.io/apimachinery/pkg/util/wait"
)

// schedulePods schedules the first list of the pods of a connection, within one period: members that
// are connected together are not listed together.
func (l *loop) schedulePods() {
	period := l.fleet.periods.Pods
	l.schedule(taskPods, wait.Jitter(period, 1)-period)
}

func (l *loop) startPods(ctx context.Context) {
	list := l.connection.Requested
	l.start(ctx, taskPods, func(ctx context.Context) (r result) {
		r.requested, r.err = list(ctx)
		return r
	})
}

// podsListed records what pods request. After a failed list, which is no reason to lose the member, it is
// what the last one returned.
func (l *loop) podsListed(r result) {
	l.due[taskPods] = r.started.Add(wait.Jitter(l.fleet.periods.Pods, spread))
	if r.err != nil {
		l.log.V(1).Info("Listing pods failed", "error", r.err.Error())
		return
	}
	l.state.Info.Requested, l.state.Info.PodsListed = r.requested, true
}
