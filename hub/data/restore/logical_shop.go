package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// shopLoad is the way of a dump into the database of an application.
type shopLoad struct{ dumpLoad }

// proceed does what can be done now. The zero Result means that the dump is loaded, what
// uses the database is started, and what was created for it is gone. An error is one of the
// hub's API server.
func (s shopLoad) proceed(ctx context.Context) (steps.Result, error) {
	if d := s.restore.Status.Dump; d != nil && d.Loaded {
		return s.finish(ctx), nil
	}
	if s.targetFacts.copy == nil && s.restore.Status.Dump != nil && s.restore.Status.Dump.Started {
		return steps.Fail(v1.ReasonLoadFailed, "the application is not in %s any more", s.member.Name), nil
	}
	if s.targetFacts.copy == nil || s.targetFacts.copy.Spec.Database == nil || !s.targetFacts.copy.DeletionTimestamp.IsZero() {
		return steps.RetryAfter(steps.PollFirst, v1.ReasonNoDatabase, "waiting for the application with a database to be placed in %s", s.member.Name), nil
	}
	if s.ended() {
		return s.alreadyRestored(), nil
	}
	into, err := render.Database(s.targetFacts.copy, render.Cluster{Name: s.member.Name})
	if err != nil {
		return steps.Fail(v1.ReasonInvalidSpec, "the database in %s: %v", s.member.Name, err), nil
	}
	s.into = into
	if result, err := s.announce(ctx); result.Stops() || err != nil {
		return result, err
	}
	s.isReady = s.ready // Of the shopLoad as it is now.
	return s.load(ctx)
}

// announce sets the annotation on the copy with which the spoke stops the workloads, once the
// dump may be loaded. An error is one of the hub's API server.
func (s shopLoad) announce(ctx context.Context) (steps.Result, error) {
	if d := s.restore.Status.Dump; d == nil || !d.Started {
		if result := s.mayLoad(ctx); result.Stops() {
			return result, nil
		}
	}
	if s.targetFacts.copy.Annotations[v1.LoadingAnnotation] != s.restore.Name {
		// Save comes first: the status records every change in the member, and a hub that
		// has read an old status stops nothing.
		if err := s.save(ctx); err != nil {
			return steps.Result{}, err
		}
	}
	taken, err := takeLock(ctx, s.writer(), s.targetFacts.copy, v1.LoadingAnnotation, s.restore.Name)
	switch {
	case err != nil:
		return s.copyError(err), nil
	case taken:
		return steps.RetryAfter(steps.PollFirst, v1.ReasonStoppingApplication, "stopping what uses the database in %s", s.member.Name), nil
	default:
		return steps.Result{}, nil
	}
}

// mayLoad reports whether the dump may be loaded, chooses its source, and asks the member
// once before anything is stopped.
func (s shopLoad) mayLoad(ctx context.Context) steps.Result {
	if why := dumpMismatch(s.targetFacts.copy.Spec.Database, &s.backup.Status); why != "" {
		return steps.Fail(v1.ReasonEngineMismatch, "%s", why)
	}
	if holder := lockHolder(s.targetFacts.copy); holder != "" && holder != s.restore.Name {
		return steps.RetryAfter(steps.PollFirst, v1.ReasonInUse, "Restore %q works on the database in %s", holder, s.member.Name)
	}
	if result := s.dumping(ctx); result.Stops() {
		return result
	}
	if result := s.chooseSource(ctx); result.Stops() || lockHolder(s.targetFacts.copy) != "" {
		return result
	}
	return s.tryDelivery(ctx)
}

// dumping checks whether the database is being dumped: otherwise the load would wait for that
// dump with the application stopped.
func (s shopLoad) dumping(ctx context.Context) steps.Result {
	of, err := s.into.Client()
	if err != nil {
		return steps.Fail(v1.ReasonInvalidSpec, "the database in %s: %v", s.member.Name, err)
	}
	pods := &corev1.PodList{}
	err = s.reader().List(ctx, pods, client.InNamespace(s.targetFacts.copy.Namespace), client.MatchingLabels{
		v1.InstanceLabel: of.Labels[v1.InstanceLabel], v1.ComponentLabel: of.Labels[v1.ComponentLabel],
	})
	if err != nil {
		return s.memberError(err)
	}
	if anyAlive(pods.Items) {
		return steps.RetryAfter(steps.PollFirst, v1.ReasonInUse, "waiting in %s for a dump of the database to end", s.member.Name)
	}
	return steps.Result{}
}

// ready reports whether the database runs, and nothing that uses it.
func (s shopLoad) ready(ctx context.Context) steps.Result {
	for _, c := range s.targetFacts.copy.Status.Components {
		if slices.Contains(clients(), c.Name) && c.Replicas > 0 {
			return steps.RetryAfter(steps.PollFirst, v1.ReasonStoppingApplication, "%s in %s is to be stopped", c.Name, s.member.Name)
		}
	}
	users, err := s.users()
	if err != nil {
		return steps.Fail(v1.ReasonInvalidSpec, "the database in %s: %v", s.member.Name, err)
	}
	pods := &corev1.PodList{}
	err = s.reader().List(ctx, pods, client.InNamespace(s.targetFacts.copy.Namespace), client.MatchingLabelsSelector{Selector: users})
	if err != nil {
		return s.memberError(err)
	}
	if anyAlive(pods.Items) {
		return steps.RetryAfter(steps.PollFirst, v1.ReasonStoppingApplication, "waiting in %s for what uses the database to stop", s.member.Name)
	}
	return s.serves(ctx)
}

// clients are the components that use the database. What else the application has, as the
// login before it, goes on.
func clients() []string { return []string{render.Backend, render.Frontend} }

// users selects the pods that use the database.
func (s shopLoad) users() (labels.Selector, error) {
	of, err := s.into.Client()
	if err != nil {
		return nil, fmt.Errorf("selecting pods: %w", err)
	}
	only, err := labels.NewRequirement(v1.ComponentLabel, selection.In, clients())
	if err != nil {
		return nil, fmt.Errorf("selecting pods: %w", err)
	}
	app := labels.Set{v1.InstanceLabel: of.Labels[v1.InstanceLabel], v1.PartOfLabel: of.Labels[v1.PartOfLabel]}
	return labels.SelectorFromSet(app).Add(*only), nil
}

// serves reports whether the database is ready.
func (s shopLoad) serves(ctx context.Context) steps.Result {
	waiting := steps.RetryAfter(steps.PollFirst, v1.ReasonStartingDatabase, "waiting for the database in %s to be ready", s.member.Name)
	pod := &corev1.Pod{}
	err := s.reader().Get(ctx, client.ObjectKey{Namespace: s.targetFacts.copy.Namespace, Name: render.DatabasePod(s.targetFacts.copy.Name)}, pod)
	switch {
	case apierrors.IsNotFound(err):
		return waiting
	case err != nil:
		return s.memberError(err)
	}
	if !serves(pod) {
		return waiting
	}
	return steps.Result{}
}

// finish starts what uses the database again, and deletes what was created to load it.
func (s shopLoad) finish(ctx context.Context) steps.Result {
	if result := s.startApplication(ctx); result.Stops() {
		return result
	}
	if result := s.tidy(ctx); result.Stops() {
		return result
	}
	if s.targetFacts.copy == nil {
		return steps.Result{} // Taken from the member in between.
	}
	return s.serves(ctx)
}

// cancel ends a Restore that is under way or has failed: no Job is at work when it
// starts what uses the database again. The zero Result means that nothing is left of it.
func (s shopLoad) cancel(ctx context.Context) steps.Result {
	stopped, err := s.stop(ctx)
	if err != nil {
		return s.memberError(err)
	}
	if !stopped {
		return steps.RetryAfter(steps.PollFirst, v1.ReasonDeleting, "waiting in %s for the Job to end", s.member.Name)
	}
	if result := s.startApplication(ctx); result.Stops() {
		return result
	}
	return s.tidy(ctx)
}

// startApplication releases the lock, so that what uses the database starts again.
func (s shopLoad) startApplication(ctx context.Context) steps.Result {
	if s.targetFacts.copy == nil {
		return steps.Result{}
	}
	given, err := releaseLock(ctx, s.writer(), s.targetFacts.copy, s.restore)
	switch {
	case err != nil:
		return s.copyError(err)
	case given:
		return steps.RetryAfter(steps.PollFirst, v1.ReasonStartingDatabase, "what uses the database in %s starts again", s.member.Name)
	default:
		return steps.Result{}
	}
}

// copyError returns the result for an error that concerns the copy.
func (s shopLoad) copyError(err error) steps.Result {
	switch {
	case errors.Is(err, errBusy):
		return steps.RetryAfter(steps.PollFirst, v1.ReasonInUse, "another Restore works on the database in %s", s.member.Name)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return steps.RetryAfter(steps.PollFirst, v1.ReasonRetrying, "the EcommerceApp in %s was changed by another client; the hub retries", s.member.Name)
	default:
		return s.memberError(err)
	}
}

// serves reports whether the pod of a database takes connections.
func serves(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
