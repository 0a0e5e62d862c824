package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// waiting is an application that waits for the pods of its frontend, and counts how often they and the events
// of the namespace are listed.
type waiting struct {
	*writer
	lists, events   int
	refused, denied bool
}

// testPodProblems checks that an application says why pods that it waits for are not ready. Before, and when they are
// ready, no pods are listed.
func testPodProblems(t *testing.T, w *writer) {
	t.Helper()
	p := &waiting{writer: w}
	m := w.member(t)
	m.APIReader = interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, limited := ctx.Deadline(); !limited {
				t.Error("pods are listed without a deadline")
			}
			return p.list(ctx, c, list, opts...)
		},
	})
	w.Reconciler = EcommerceApp().Reconciler(m)
	p.createPod(t)
	w.reconcile(t)
	w.ready(t, 0)
	w.reconcile(t)
	w.clock.Step(20 * time.Second)
	if rest := w.reconcile(t).RequeueAfter; p.lists > 0 || rest > 13*time.Second {
		t.Errorf("%d lists in the first 20 s, the next pass is in %s", p.lists, rest)
	}
	const image = "0 of 1 replicas are ready; image shop:v1 of container frontend cannot be pulled"
	w.clock.Step(11 * time.Second)
	w.reconcile(t)
	p.expect(t, v1.ReasonImagePullBackOff, image)
	for range 3 {
		w.reconcile(t)
	}
	if p.lists != 1 || p.events != 1 {
		t.Errorf("%d lists of pods and %d of events within a minute", p.lists, p.events)
	}
	p.refused, p.denied = true, true
	w.clock.Step(61 * time.Second)
	w.reconcile(t)
	p.expect(t, v1.ReasonImagePullBackOff, image)
	p.refused = false
	w.clock.Step(61 * time.Second)
	if rest := w.reconcile(t).RequeueAfter; p.lists != 2 || p.events > 2 || rest > time.Minute {
		t.Errorf("%d lists of pods and %d of events in two minutes, the next one is in %s", p.lists, p.events, rest)
	}
	w.clock.Step(2 * time.Minute)
	w.reconcile(t)
	p.expect(t, v1.ReasonImagePullBackOff, image) // Without the permission to list events.
	// Pods of another image may have another problem, or none.
	w.patch(t, `{"spec":{"image":"shop:v2"}}`)
	w.reconcile(t)
	w.ready(t, 0)
	w.clock.Step(5 * time.Second)
	w.reconcile(t)
	p.expect(t, v1.ReasonWaitingForReplicas, "0 of 1 replicas are ready")
	w.ready(t, 1)
	w.reconcile(t)
	w.reconcile(t) // The Ingress exists.
	w.clock.Step(time.Hour)
	w.reconcile(t)
	p.expect(t, v1.ReasonRunning, "")
	if p.lists != 3 || p.events != 2 {
		t.Errorf("%d lists, of which some when all pods were ready", p.lists)
	}
}

// list lists pods or events, each only as far as it is bounded.
func (w *waiting) list(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	bounds := new(client.ListOptions).ApplyOptions(opts)
	if bounds.Limit == 0 || bounds.Limit > 200 || bounds.Namespace == "" {
		return fmt.Errorf("not bounded: %+v", bounds)
	}
	switch _, events := list.(*corev1.EventList); {
	case events:
		w.events++
		if w.denied {
			return apierrors.NewForbidden(corev1.Resource("events"), "", nil)
		}
	default:
		if w.lists++; w.refused {
			return apierrors.NewTooManyRequests("busy", 1)
		}
	}
	return c.List(ctx, list, opts...)
}

// createPod creates a pod of the frontend whose image cannot be pulled.
func (w *waiting) createPod(t *testing.T) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, GenerateName: "frontend-", Labels: map[string]string{
			v1.ManagedByLabel: v1.ManagedBy, v1.PartOfLabel: "ecommerceapp", v1.InstanceLabel: w.key.Name, v1.ComponentLabel: render.Frontend,
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: render.Frontend, Image: "shop:v1"}}},
	}
	w.allowPods(t)
	if err := w.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: render.Frontend, Image: "shop:v1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}},
	}}
	if err := w.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// expect checks the conditions Ready and, unless the message is empty, Degraded.
func (w *waiting) expect(t *testing.T, reason, message string) {
	t.Helper()
	app := w.stored(t)
	ready := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionReady)
	if ready.Reason != reason || message != "" && ready.Message != render.Frontend+": "+message {
		t.Errorf("Ready is %+v, want %s, %q", ready, reason, message)
	}
	degraded := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionDegraded)
	if is := degraded.Status == metav1.ConditionTrue; is != (reason == v1.ReasonImagePullBackOff) ||
		is && (degraded.Reason != reason || !strings.HasSuffix(message, strings.TrimPrefix(degraded.Message, render.Frontend+": "))) {
		t.Errorf("Degraded is %+v", degraded)
	}
}
