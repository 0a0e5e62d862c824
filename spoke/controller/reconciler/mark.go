package reconciler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/dataloss"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// clientsWait is when it is seen again whether what uses a database has ended that is to be loaded.
const clientsWait = 2 * time.Second

// observedMark is the Secret with the mark of a database, nil if there is none, and what is known of its
// volume.
type observedMark struct {
	live  *corev1.Secret
	state dataloss.State
}

// keepMark writes the mark that the object's database was created, before a pod that depends on it, reports
// that its data is lost, and adds to the facts what follows from that. What was known stays if the mark can
// be neither read nor written.
func (r *reconciler[T]) keepMark(ctx context.Context, p *pass[T], facts render.Cluster) render.Cluster {
	if p.database == nil {
		return facts
	}
	last := meta.FindStatusCondition(*r.kind.Status(p.object).Conditions, v1.ConditionDatabaseLost)
	wasLost := last != nil && last.Status == metav1.ConditionTrue
	seen, err := r.observeMark(ctx, p, wasLost)
	var mark database.Mark
	lost := wasLost
	if err == nil {
		mark, lost = dataloss.Next(seen.state)
		err = r.writeMark(ctx, p, seen, mark)
		p.created = p.created || mark.Created || mark.Consent != ""
	}
	if err != nil {
		p.fail(database.Component, err)
		lost = lost || wasLost
	}
	if !lost {
		return facts
	}
	if p.lost = r.lostMessage(ctx, p, mark, seen.state.Loading); err != nil && wasLost {
		p.lost = last.Message
	}
	p.problems = append(p.problems, component.Problem{
		Component: database.Component, Reason: v1.ReasonDatabaseLost, Blocking: true, Message: p.lost,
	})
	facts.DatabaseLost = true
	if mark.Consent == database.ConsentLoad {
		facts.PendingLoad = mark.Load
	}
	return facts
}

// observeMark reads the mark, and the claim and the pod of the primary. That a database that was created has no
// mark, or no claim, is not believed of a cache, which has only what has our labels.
func (r *reconciler[T]) observeMark(ctx context.Context, p *pass[T], wasLost bool) (observedMark, error) {
	annotations, known := p.object.GetAnnotations(), r.kind.Status(p.object).DatabaseCreated
	seen := observedMark{state: dataloss.State{
		Known:   annotations[v1.DatabaseCreatedAnnotation] == "true" || known != nil && *known,
		WasLost: wasLost, StartEmpty: annotations[v1.StartEmptyAnnotation],
		Loading: annotations[v1.LoadingAnnotation], Restoring: annotations[v1.RestoringAnnotation] != "",
		Loaded: annotations[v1.LoadedAnnotation] != "",
	}}
	key := func(name string) client.ObjectKey {
		return client.ObjectKey{Namespace: p.object.GetNamespace(), Name: name}
	}
	secret, claim, pod := &corev1.Secret{}, &corev1.PersistentVolumeClaim{}, &corev1.Pod{}
	found, err := r.readCertainly(ctx, key(p.database.MarkName()), secret, seen.state.Known)
	if err != nil {
		return seen, err
	}
	if found {
		seen.live, seen.state.Mark = secret, database.ReadMark(secret)
	}
	created := seen.state.Known || seen.state.Mark != nil && seen.state.Mark.Created
	if found, err = r.readCertainly(ctx, key(p.database.PrimaryClaim()), claim, created); err != nil {
		return seen, err
	}
	if found {
		seen.state.Claim = claim
	}
	if found, err = r.readCertainly(ctx, key(p.database.PrimaryPod()), pod, false); found {
		seen.state.Pod = pod
	}
	if _, lost := dataloss.Next(seen.state); err == nil && lost && seen.state.Loading != "" {
		seen.state.Stopped, err = r.clientsStopped(ctx, p)
	}
	return seen, err
}

// clientsStopped reports whether no pod runs that uses the object's database. They are not watched, and looked
// at again.
func (r *reconciler[T]) clientsStopped(ctx context.Context, p *pass[T]) (bool, error) {
	if r.kind.Clients == nil {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	pods := &corev1.PodList{}
	if err := r.member.APIReader.List(ctx, pods, client.InNamespace(p.object.GetNamespace()), client.MatchingLabels(r.kind.Clients(p.object))); err != nil {
		return false, fmt.Errorf("listing the pods of clients: %w", err)
	}
	stopped := !slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	})
	if !stopped {
		p.retryIn = retry.Sooner(p.retryIn, clientsWait)
	}
	return stopped, nil
}

// readCertainly reads an object from the cache and, if it has none and that matters, from the API server.
func (r *reconciler[T]) readCertainly(ctx context.Context, key client.ObjectKey, object client.Object, matters bool) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	err := r.member.Reader.Get(ctx, key, object)
	if apierrors.IsNotFound(err) && matters {
		err = r.member.APIReader.Get(ctx, key, object)
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading %T %q: %w", object, key.Name, err)
	}
	return err == nil, nil
}

// writeMark writes the mark if it differs. A primary that may initialize its volume now is started again at
// once: the kubelet would wait longer and longer.
func (r *reconciler[T]) writeMark(ctx context.Context, p *pass[T], seen observedMark, mark database.Mark) error {
	if p.paused {
		return nil
	}
	secret, err := p.database.MarkSecret(mark)
	if err != nil {
		return &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: err}
	}
	request := apply.Request{Intent: secret, Owned: r.owned(p.object, secret)}
	if seen.live != nil {
		request.Live = seen.live
	} else { // One that no cache has stays as it is, and gets its labels back.
		request.Once, request.ExpectFor = true, creationExpected
	}
	result, err := r.member.Applier.Apply(ctx, request)
	if err != nil {
		return err
	}
	if p.retryIn = retry.Sooner(p.retryIn, result.Wait); result.Outcome == apply.Terminating {
		p.retryIn = retry.Sooner(p.retryIn, rotationWait)
	}
	if last, pod := seen.state.Mark, seen.state.Pod; last != nil && last.Created && !mark.Created && pod != nil && !component.IsReady(pod) {
		if err := r.evict(ctx, pod); err != nil {
			log.FromContext(ctx).Info("Primary could not be started again", "pod", pod.Name, "cause", err.Error())
		}
	}
	return nil
}

// evict evicts a pod, and no other one that has its name meanwhile. The disruption budget is respected.
func (r *reconciler[T]) evict(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	if err := r.member.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	}); err != nil {
		return fmt.Errorf("evicting pod %q: %w", pod.Name, err)
	}
	return nil
}

// lostMessage returns the message that tells a user what to do about lost data, and which replicas still
// hold it.
func (r *reconciler[T]) lostMessage(ctx context.Context, p *pass[T], mark database.Mark, loading string) string {
	if mark.Consent == database.ConsentLoad && loading != "" {
		return fmt.Sprintf("wait for Restore %s, which loads a dump into the database, whose data was lost", loading)
	}
	remedy := fmt.Sprintf("restore a backup, or annotate the application with %s: <token> for an empty database", v1.StartEmptyAnnotation)
	if mark.Consent == database.ConsentLoad {
		return fmt.Sprintf("%s: Restore %s has not brought back the data, which was lost", remedy, mark.Load)
	}
	text := fmt.Sprintf("%s: the data of claim %s of pod %s is gone", remedy, p.database.PrimaryClaim(), p.database.PrimaryPod())
	if holders := r.holders(ctx, p); len(holders) > 0 {
		text += ", and these replicas still hold it: " + strings.Join(holders, ", ")
	}
	return text
}

// holders returns the pods of the replicas whose claims are bound.
func (r *reconciler[T]) holders(ctx context.Context, p *pass[T]) []string {
	var names []string
	for _, replica := range p.database.ReplicaClaims() {
		claim := &corev1.PersistentVolumeClaim{}
		found, err := r.readCertainly(ctx, client.ObjectKey{Namespace: p.object.GetNamespace(), Name: replica.Claim}, claim, false)
		if err == nil && found && claim.Status.Phase == corev1.ClaimBound {
			names = append(names, replica.Pod)
		}
	}
	return names
}
