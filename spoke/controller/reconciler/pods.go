package reconciler

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/shopfleet/shopfleet/spoke/component"
)

const (
	// podCheckDelay is how long an application waits for the pods of a component before they are listed.
	// The time until they are listed again is firstPodPeriod, and doubles up to lastPodPeriod.
	podCheckDelay  = 30 * time.Second
	firstPodPeriod = time.Minute
	lastPodPeriod  = 10 * time.Minute
	// maxPods bounds the pods that are listed.
	maxPods = 100
)

// podCheck is the last list of the pods of a component, or the one that is to come.
type podCheck struct {
	uid        types.UID
	generation int64
	component  string
	// found is false if the pods did not say why they are not ready.
	found   bool
	problem component.Problem
	// due is when they are listed again, and period the time after that until the next list.
	due    time.Time
	period time.Duration
}

// checkPods reports why pods that the application has been waiting for are not ready. No cache has pods
// but those of databases: a fleet has many, and of few it matters why they wait. What cannot be read is
// logged, and what is known stays.
func (r *reconciler[T]) checkPods(ctx context.Context, p *pass[T]) {
	settings := r.member.Settings
	name, now, generation := client.ObjectKeyFromObject(p.object), settings.Clock.Now(), p.object.GetGeneration()
	state, since, waits := component.WaitsForPods(*r.kind.Status(p.object).Conditions, generation, p.states, now)
	if !waits || p.paused || p.lost != "" {
		r.pods.forget(name)
		return
	}
	last := r.pods.of(name)
	if last.uid != p.object.GetUID() || last.generation != generation || last.component != state.Name {
		last = podCheck{
			uid: p.object.GetUID(), generation: generation, component: state.Name,
			due: since.Add(settings.Waits.Scaled(podCheckDelay)), period: firstPodPeriod,
		}
	}
	if !now.Before(last.due) {
		problem, found, err := r.podProblem(ctx, name.Namespace, state)
		if err == nil {
			last.problem, last.found = problem, found
		} else {
			log.FromContext(ctx).Info("Pods could not be checked", "component", state.Name, "cause", err.Error())
		}
		last.due, last.period = now.Add(settings.Waits.Scaled(last.period)), min(2*last.period, lastPodPeriod)
	}
	r.pods.keep(name, last)
	p.checkDue = sooner(p.checkDue, last.due.Sub(now))
	if last.found {
		p.problems = append(p.problems, last.problem)
	}
}

// podProblem lists the pods of a component that have not ended.
func (r *reconciler[T]) podProblem(ctx context.Context, namespace string, state component.State) (component.Problem, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	selector, err := labels.Parse(state.Awaited)
	if err != nil {
		return component.Problem{}, false, fmt.Errorf("parsing the selector of component %q: %w", state.Name, err)
	}
	running := fields.AndSelectors(
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	)
	pods := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	if err := r.member.APIReader.List(ctx, pods, client.InNamespace(namespace),
		client.MatchingLabelsSelector{Selector: selector}, client.MatchingFieldsSelector{Selector: running}, client.Limit(maxPods)); err != nil {
		return component.Problem{}, false, fmt.Errorf("listing the pods of component %q: %w", state.Name, err)
	}
	problem, found := component.PodProblem(pods.Items, r.member.Settings.Clock.Now())
	problem.Component = state.Name
	return problem, found, nil
}
