package reconciler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/replication"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// rebuildEach is the age that a replica's pod must have to be replaced for a copy of the data, so
// that one that is lost again at once does not load the primary all the time.
const rebuildEach = 5 * time.Minute

// followReplicas observes the replicas of the object's database when that is due, has one that is
// lost copy the primary's data again, and reports those whose data only a user may remove. What
// fails is logged: the database works without it.
func (r *reconciler[T]) followReplicas(ctx context.Context, p *pass[T]) {
	known := r.memory.of(client.ObjectKeyFromObject(p.object))
	pods := p.observableReplicas()
	if len(pods) == 0 || r.member.Paused {
		known.replicas = replication.Observation{}
		return
	}
	now := r.member.Settings.Clock.Now()
	seen := known.replicas
	if !seen.Current(now, podsOf(pods)) {
		last := seen
		seen = r.observeReplicas(ctx, p, pods, last)
		seen.Due = now.Add(r.member.Settings.Waits.Scaled(seen.ValidFor(last)))
		known.replicas = seen
		if !p.losesClaims() {
			r.rebuildLost(ctx, p, pods, last)
		}
	}
	p.replicas, p.checkDue = seen.Statuses(), retry.Sooner(p.checkDue, seen.Due.Sub(now))
	if kept := replication.Kept(p.replicas); len(kept) > 0 {
		p.problems = append(p.problems, component.Problem{
			Component: database.Component, Reason: v1.ReasonReplicaDiverged, Optional: true, Message: diverged(kept),
		})
	}
}

// losesClaims reports whether a claim of the object's database is being deleted: no other copy of the data
// may be given up then, and the pod of the claim not be replaced.
func (p *pass[T]) losesClaims() bool {
	for _, c := range p.components {
		for _, object := range c.Objects {
			if len(component.DeletedClaims(object.Resource, p.live)) > 0 {
				return true
			}
		}
	}
	return false
}

// observableReplicas returns the replicas of the object's database; none unless the primary is
// ready and the replication of the engine is observed.
func (p *pass[T]) observableReplicas() []*corev1.Pod {
	if p.database == nil || p.database.Replicas < 2 || database.ObservePrimaryCommand(p.database.Engine) == nil {
		return nil
	}
	var pods []*corev1.Pod
	for _, c := range p.components {
		for _, object := range c.Objects {
			for i, key := range component.Pods(object.Resource) {
				pod, ok := p.live[key].(*corev1.Pod)
				if i == 0 && (!ok || !component.IsReady(pod)) {
					return nil
				}
				if i > 0 && ok {
					pods = append(pods, pod)
				}
			}
		}
	}
	return pods
}

// observeReplicas asks the replicas in parallel, and then the primary, which thus has all that they
// got from it. The whole takes at most as long as one request may. Half of that is for the primary.
func (r *reconciler[T]) observeReplicas(ctx context.Context, p *pass[T], pods []*corev1.Pod, last replication.Observation) replication.Observation {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	seen := replication.Observation{Pods: podsOf(pods)}
	var wg sync.WaitGroup
	asked, stop := context.WithTimeout(ctx, r.member.Settings.Timeout/2)
	defer stop()
	for i, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning {
			wg.Go(func() { seen.Pods[i].Replica = r.askReplica(asked, pod) })
		}
	}
	wg.Wait()
	primary, err := r.askPrimary(ctx, p.object, *p.database)
	seen.Primary = err == nil
	if err != nil {
		log.FromContext(ctx).Info("Replicas could not be observed", "cause", err.Error())
		return seen
	}
	for i, pod := range pods {
		seen.Pods[i].Decide(primary, pod.Status.PodIP, last.Last(pod.UID))
	}
	return seen
}

// podsOf returns the pods of replicas, without observations.
func podsOf(pods []*corev1.Pod) []replication.Pod {
	all := make([]replication.Pod, 0, len(pods))
	for _, pod := range pods {
		all = append(all, replication.Pod{
			UID: pod.UID, Ready: component.IsReady(pod), Status: v1.DatabaseReplica{Name: pod.Name, State: v1.ReplicaUnknown},
		})
	}
	return all
}

func (r *reconciler[T]) askPrimary(ctx context.Context, object T, db database.Spec) (replication.Primary, error) {
	output, err := r.exec(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: db.PrimaryPod()}, database.ObservePrimaryCommand(db.Engine))
	if err != nil {
		return replication.Primary{}, fmt.Errorf("observing the primary: %w", err)
	}
	return replication.ParsePrimary(output)
}

// askReplica returns nil if the server does not answer: it starts, or hangs.
func (r *reconciler[T]) askReplica(ctx context.Context, pod *corev1.Pod) *replication.Replica {
	output, err := r.exec(ctx, client.ObjectKeyFromObject(pod), database.ObserveReplicaCommand())
	if err != nil {
		return nil
	}
	replica, err := replication.ParseReplica(output)
	if err != nil {
		return nil
	}
	return &replica
}

// rebuildLost makes one replica copy the primary's data again: one that is lost now, and was lost when
// it was last observed.
func (r *reconciler[T]) rebuildLost(ctx context.Context, p *pass[T], pods []*corev1.Pod, last replication.Observation) {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	now := r.member.Settings.Clock.Now()
	seen := r.memory.of(client.ObjectKeyFromObject(p.object)).replicas
	for i, pod := range pods {
		age := now.Sub(pod.CreationTimestamp.Time)
		if p.paused || pod.DeletionTimestamp != nil || age < r.member.Settings.Waits.Scaled(rebuildEach) || !seen.Pods[i].Rebuild(last.Last(pod.UID)) {
			continue
		}
		if err := r.rebuild(ctx, pod); err != nil {
			log.FromContext(ctx).Info("Replica could not be rebuilt", "pod", pod.Name, "cause", err.Error())
			if why := evictionAnswer(err); why != "" {
				r.member.Recorder.Eventf(p.object, pod, corev1.EventTypeWarning, "ReplicaNotRebuilt", "Rebuild",
					"Replica %s cannot follow the primary, and its pod cannot be evicted to copy the primary's data again: %s", pod.Name, why)
			}
			continue
		}
		r.member.Recorder.Eventf(p.object, pod, corev1.EventTypeWarning, "ReplicaLost", "Rebuild",
			"Replica %s cannot follow the primary, which no longer has the changes that it needs: its volume gets the primary's data again", pod.Name)
		return
	}
}

// rebuild asks for a copy of the primary's data into the volume of a replica, and replaces the pod.
func (r *reconciler[T]) rebuild(ctx context.Context, pod *corev1.Pod) error {
	if _, err := r.exec(ctx, client.ObjectKeyFromObject(pod), database.RebuildCommand()); err != nil {
		return fmt.Errorf("asking for a copy of the primary's data: %w", err)
	}
	return r.evict(ctx, pod)
}

// evictionAnswer returns why the API server refuses an eviction; empty if it did not answer, or the pod
// was replaced.
func evictionAnswer(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return ""
	}
	why := status.ErrStatus.Message
	// The budget and its numbers are among the causes.
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok {
		why += " " + cause.Message
	}
	return why
}

// diverged returns the message that tells a user what to do about replicas that keep their data.
func diverged(names []string) string {
	return "the data of " + strings.Join(names, ", ") + " may have what the primary lacks, and is kept: dump it, then delete claim and pod"
}

// exec runs a command in the container of a database.
func (r *reconciler[T]) exec(ctx context.Context, pod client.ObjectKey, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	return r.member.Exec(ctx, podexec.Container{Pod: pod, Name: database.Container}, podexec.Command{Args: args})
}
