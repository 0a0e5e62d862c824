package reconciler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/podexec"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/replication"
)

const (
	// observeReplicas is how often the replicas of a database are observed: no watch reports how
	// far they are behind. observeTroubled is for those with a replica that does not follow, and
	// observeAgain for a cluster in which commands fail.
	observeReplicas = time.Minute
	observeTroubled = 15 * time.Second
	observeAgain    = 10 * time.Minute
	// rebuildEach is the age that a replica's pod must have to be replaced for a copy of the data,
	// so that one that is lost again at once does not load the primary all the time.
	rebuildEach = 5 * time.Minute
)

// observations keep the last observation of each database with replicas. They are safe for
// concurrent use. A process that starts observes again.
type observations struct {
	mu  sync.Mutex
	all map[types.NamespacedName]observation
}

// observation holds the observed replicas of a database, and when to observe them again.
type observation struct {
	replicas []v1.DatabaseReplica
	due      time.Time
}

func (o *observations) of(key types.NamespacedName) observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[key]
}

func (o *observations) keep(key types.NamespacedName, seen observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all[key] = seen
}

func (o *observations) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, key)
}

// followReplicas observes the replicas of the object's database when that is due, and has one that
// was lost twice in a row copy the primary's data again. What fails is logged: the database works
// without it.
func (r *reconciler[T]) followReplicas(ctx context.Context, p *pass[T]) {
	key := client.ObjectKeyFromObject(p.object)
	pods := p.observableReplicas()
	if len(pods) == 0 || r.member.Paused {
		r.observations.forget(key)
		return
	}
	now := r.member.Settings.Clock.Now()
	last := r.observations.of(key)
	if now.Before(last.due) {
		p.replicas, p.retryIn = last.replicas, sooner(p.retryIn, last.due.Sub(now))
		return
	}
	seen := observation{}
	wait := observeReplicas
	primary, err := r.observePrimary(ctx, p.object, *p.database)
	if err != nil {
		log.FromContext(ctx).Info("Replicas could not be observed", "cause", err.Error())
		wait = observeAgain
	}
	for i, pod := range pods {
		replica := v1.DatabaseReplica{Name: pod.Name, State: v1.ReplicaUnknown}
		if err == nil {
			replica = r.observeReplica(ctx, primary, pod)
		}
		seen.replicas = append(seen.replicas, replica)
		if err == nil && replica.State != v1.ReplicaFollowing {
			wait = observeTroubled
		}
		lost := replica.State == v1.ReplicaLost && i < len(last.replicas) && last.replicas[i] == replica
		if lost && !p.paused && now.Sub(pod.CreationTimestamp.Time) >= r.member.Settings.Waits.Scaled(rebuildEach) {
			r.rebuild(ctx, p.object, pod)
		}
	}
	wait = r.member.Settings.Waits.Scaled(wait)
	seen.due = now.Add(wait)
	r.observations.keep(key, seen)
	p.replicas, p.retryIn = seen.replicas, sooner(p.retryIn, wait)
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

func (r *reconciler[T]) observePrimary(ctx context.Context, object T, db database.Spec) (replication.Primary, error) {
	output, err := r.exec(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: db.PrimaryPod()}, database.ObservePrimaryCommand(db.Engine))
	if err != nil {
		return replication.Primary{}, fmt.Errorf("observing the primary: %w", err)
	}
	return replication.ParsePrimary(output)
}

// observeReplica returns the state of a replica. One that streams is not asked itself.
func (r *reconciler[T]) observeReplica(ctx context.Context, primary replication.Primary, pod *corev1.Pod) v1.DatabaseReplica {
	found := v1.DatabaseReplica{Name: pod.Name}
	var lag time.Duration
	if found.State, lag = primary.Decide(pod.Status.PodIP, nil); found.State == v1.ReplicaFollowing {
		found.LagSeconds = new(int64(replication.Coarse(lag).Seconds()))
		return found
	}
	output, err := r.exec(ctx, client.ObjectKeyFromObject(pod), database.ObserveReplicaCommand())
	if err != nil {
		return found // It starts, or copies data.
	}
	if replica, err := replication.ParseReplica(output); err == nil {
		found.State, _ = primary.Decide(pod.Status.PodIP, &replica)
	}
	return found
}

// rebuild replaces the pod of a replica by one that copies the primary's data into the same
// volume. An eviction respects the disruption budget, and is tried again when it is refused.
func (r *reconciler[T]) rebuild(ctx context.Context, object T, pod *corev1.Pod) {
	_, err := r.exec(ctx, client.ObjectKeyFromObject(pod), database.RebuildCommand())
	if err == nil {
		err = r.evict(ctx, pod)
	}
	if err == nil {
		r.member.Recorder.Eventf(object, pod, corev1.EventTypeWarning, "ReplicaLost", "Rebuild",
			"Replica %s cannot follow the primary, which no longer has the changes that it needs: its volume gets the primary's data again", pod.Name)
		return
	}
	log.FromContext(ctx).Info("Replica could not be rebuilt", "pod", pod.Name, "cause", err.Error())
	if why := evictionAnswer(err); why != "" {
		r.member.Recorder.Eventf(object, pod, corev1.EventTypeWarning, "ReplicaNotRebuilt", "Rebuild",
			"Replica %s cannot follow the primary, and its pod cannot be evicted to copy the primary's data again: %s", pod.Name, why)
	}
}

func (r *reconciler[T]) evict(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	return r.member.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
	})
}

// evictionAnswer returns why the API server refuses an eviction; empty if it did not answer, or the pod
// is gone.
func evictionAnswer(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || apierrors.IsNotFound(err) {
		return ""
	}
	why := status.ErrStatus.Message
	// The budget and its numbers are among the causes.
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok {
		why += " " + cause.Message
	}
	return why
}

// exec runs a command in the container of a database.
func (r *reconciler[T]) exec(ctx context.Context, pod client.ObjectKey, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	return r.member.Exec(ctx, podexec.Container{Pod: pod, Name: database.Container}, podexec.Command{Args: args})
}
