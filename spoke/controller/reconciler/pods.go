package reconciler

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// podCheckDelay is how long an application waits for the pods of a component before they are listed.
	// The time until they are listed again is firstPodPeriod, and doubles up to lastPodPeriod.
	podCheckDelay  = 30 * time.Second
	firstPodPeriod = time.Minute
	lastPodPeriod  = 10 * time.Minute
	// maxPods and maxEvents bound what is listed.
	maxPods   = 100
	maxEvents = 200
)

// podCheck is the last list of the pods of a component, or the one that is to come.
type podCheck struct {
	uid        types.UID
	generation int64
	component  string
	// found is false if the pods did not say why they are not ready.
	found   bool
	problem component.Problem
	// creation is the Creation of the component at that time: events are outdated when it changes.
	creation component.Creation
	// due is when they are listed again, and period the time after that until the next list.
	due    time.Time
	period time.Duration
}

// checkPods reports why pods that the application has been waiting for are not ready. Caches hold
// pods of databases only: a fleet has many pods, and it matters for few of them why they wait. A failed read
// is logged, and what is known stays.
func (r *reconciler[T]) checkPods(ctx context.Context, p *pass[T]) {
	settings := r.member.Settings
	known, now, generation := r.memory.of(client.ObjectKeyFromObject(p.object)), settings.Clock.Now(), p.object.GetGeneration()
	state, since, waits := component.WaitsForPods(*r.kind.Status(p.object).Conditions, generation, p.states, now)
	if !waits || p.paused || p.lost != "" {
		known.pods = podCheck{}
		return
	}
	last := known.pods
	if last.uid != p.object.GetUID() || last.generation != generation || last.component != state.Name {
		last = podCheck{
			uid: p.object.GetUID(), generation: generation, component: state.Name,
			due: since.Add(settings.Waits.Scaled(podCheckDelay)), period: firstPodPeriod,
		}
	}
	if last.found && last.creation != state.Creation && component.OfCreation(last.problem) {
		last.due, last.period = now, firstPodPeriod
	}
	if !now.Before(last.due) {
		last.creation = state.Creation
		problem, found, err := r.explain(ctx, p, state)
		if err == nil {
			last.problem, last.found = problem, found
		} else {
			log.FromContext(ctx).Info("Pods could not be checked", "component", state.Name, "cause", err.Error())
		}
		last.due, last.period = now.Add(settings.Waits.Scaled(last.period)), min(2*last.period, lastPodPeriod)
	}
	known.pods = last
	p.checkDue = retry.Sooner(p.checkDue, last.due.Sub(now))
	if last.found {
		p.problems = append(p.problems, last.problem)
	}
}

// explain returns why a component is waited for, by its pods, and by the events that its workload and claims
// have in the place of pods and volumes. Both are listed at the same moment.
func (r *reconciler[T]) explain(ctx context.Context, p *pass[T], state component.State) (component.Problem, bool, error) {
	namespace := p.object.GetNamespace()
	i := slices.IndexFunc(p.components, func(c component.Component) bool { return c.Name == state.Name })
	if i < 0 {
		return component.Problem{}, false, nil
	}
	pods, err := r.listPods(ctx, namespace, state)
	if err != nil {
		return component.Problem{}, false, err
	}
	problem, found := component.Explain(p.components[i], state, component.Evidence{
		Pods: pods, Warnings: r.listWarnings(ctx, namespace), Live: p.live, Now: r.member.Settings.Clock.Now(),
	})
	return problem, found, nil
}

// listPods lists the pods of a component that have not ended.
func (r *reconciler[T]) listPods(ctx context.Context, namespace string, state component.State) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	selector, err := labels.Parse(state.Awaited)
	if err != nil {
		return nil, fmt.Errorf("parsing the selector of component %q: %w", state.Name, err)
	}
	running := fields.AndSelectors(
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	)
	pods := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	if err := r.member.APIReader.List(ctx, pods, client.InNamespace(namespace),
		client.MatchingLabelsSelector{Selector: selector}, client.MatchingFieldsSelector{Selector: running}, client.Limit(maxPods)); err != nil {
		return nil, fmt.Errorf("listing the pods of component %q: %w", state.Name, err)
	}
	return pods.Items, nil
}

// listWarnings lists the Warning events of a namespace that are about other objects than pods. It returns
// none if they cannot be listed, as with credentials of an earlier release: what the pods say is known all
// the same.
func (r *reconciler[T]) listWarnings(ctx context.Context, namespace string) []corev1.Event {
	logger := log.FromContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	warnings := fields.AndSelectors(
		fields.OneTermEqualSelector("type", corev1.EventTypeWarning),
		fields.OneTermNotEqualSelector("involvedObject.kind", "Pod"),
	)
	events := &corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}}
	err := r.member.APIReader.List(ctx, events, client.InNamespace(namespace),
		client.MatchingFieldsSelector{Selector: warnings}, client.Limit(maxEvents))
	switch {
	case apierrors.IsForbidden(err):
		r.eventsDenied.Do(func() {
			logger.Info("Events may not be listed: why pods and volumes are not created is not shown", "cause", err.Error())
		})
	case err != nil:
		logger.Info("Events could not be listed", "cause", err.Error())
	}
	return events.Items
}
