package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
)

const (
	// What the servers of a database print.
	primaryPrints  = "primary 5 1 0/7000000\noldest 000000010000000000000005\nsegment 16777216\nreplica 127.0.0.1 75\n"
	followerPrints = "recovers streams 5 1 0/7000000 0\n"
	lostPrints     = "recovers waits 5 1 0/4FFFFFF 0\n"
	// observeAgain is longer than an observation is valid.
	observeAgain = 11 * time.Minute
)

// replicated is an application whose database has a primary and two replicas, and what its servers print.
type replicated struct {
	*writer
	prints [3]string
	// asked is called for each command without input, before it prints. Commands run side by side.
	asked func(ctx context.Context, pod int, script string)
}

func testReplicas(t *testing.T, w *writer) {
	t.Helper()
	r := &replicated{writer: w, prints: [3]string{primaryPrints, followerPrints, lostPrints}, asked: func(context.Context, int, string) {}}
	r.exec = r.run
	w.allowPods(t)
	w.patch(t, `{"spec":{"database":{"engine":"postgresql","version":"15.4","storage":"1Gi","replicas":3}}}`)
	w.reconcile(t)
	r.allowDisruption(t)
	for i := range r.prints {
		r.createPod(t.Context(), t, i, i < 2)
	}
	w.clock.SetTime(r.livePod(t, 2).CreationTimestamp.Add(time.Hour)) // Pods are old enough to be replaced.
	t.Run("side by side", r.sideBySide)
	t.Run("without primary", r.withoutPrimary)
	t.Run("replaced meanwhile", r.replacedMeanwhile)
	t.Run("started", r.started)
}

// TestNoOldLag checks that a pass that observes nothing, for example of a spec that cannot be rendered, keeps the
// known state of components and reports no lag.
func TestNoOldLag(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{Status: v1.EcommerceAppStatus{
		Ready: "1/1", Components: []v1.ComponentStatus{{Name: database.Component}},
		DatabaseReplicas: []v1.DatabaseReplica{{Name: "shop-database-1", State: v1.ReplicaFollowing, LagSeconds: new(int64(60))}},
	}}
	want := app.DeepCopy()
	want.Status.DatabaseReplicas = nil
	setEcommerceAppStatus(app, component.Summary{})
	if diff := cmp.Diff(want, app); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sideBySide checks that all replicas are asked at once until one point in time, and then the primary.
func (r *replicated) sideBySide(t *testing.T) {
	var mu sync.Mutex
	var all sync.WaitGroup
	all.Add(2)
	both := make(chan struct{})
	go func() { all.Wait(); close(both) }()
	deadlines := map[int]time.Time{}
	r.asked = func(ctx context.Context, pod int, _ string) {
		mu.Lock()
		deadlines[pod], _ = ctx.Deadline()
		mu.Unlock()
		if pod == 0 {
			return
		}
		all.Done()
		select {
		case <-both:
		case <-ctx.Done():
			t.Errorf("replica %d is asked alone", pod)
		}
	}
	r.observe(t)
	r.expect(t, v1.DatabaseReplica{Name: r.pod(1), State: v1.ReplicaFollowing, LagSeconds: new(int64(60))}, v1.DatabaseReplica{Name: r.pod(2), State: v1.ReplicaLost})
	left := deadlines[0].Sub(deadlines[1])
	if !deadlines[1].Equal(deadlines[2]) || left <= 0 || left > r.options.Timeout/2 {
		t.Errorf("the replicas are asked until %s and %s, and the primary until %s", deadlines[1], deadlines[2], deadlines[0])
	}
	r.asked = func(context.Context, int, string) {}
}

// withoutPrimary checks that only a lag that was observed now is reported.
func (r *replicated) withoutPrimary(t *testing.T) {
	r.setReady(t, 0, false)
	r.observe(t)
	r.expect(t)
	r.setReady(t, 0, true)
	printed := r.prints
	t.Cleanup(func() { r.prints = printed })
	for name, prints := range map[string][3]string{
		"the primary does not answer": {"", followerPrints, lostPrints},
		"no server answers":           {},
	} {
		r.prints = prints
		r.observe(t)
		t.Log(name)
		r.expect(t, v1.DatabaseReplica{Name: r.pod(1), State: v1.ReplicaUnknown}, v1.DatabaseReplica{Name: r.pod(2), State: v1.ReplicaUnknown})
	}
}

// replacedMeanwhile checks that the pod that replaced a lost one is evicted only if it is lost itself.
func (r *replicated) replacedMeanwhile(t *testing.T) {
	lost := r.livePod(t, 2)
	r.asked = func(ctx context.Context, pod int, script string) {
		if pod == 2 && strings.Contains(script, ".rebuild-at") {
			r.replace(ctx, t, pod)
		}
	}
	r.observe(t)
	r.observe(t)
	next := r.livePod(t, 2)
	if next.UID == lost.UID {
		t.Fatal("the replica was not asked to copy the primary's data again")
	}
	r.expectEvents(t)

	r.asked = func(context.Context, int, string) {}
	r.observe(t)
	r.observe(t)
	if err := r.Get(t.Context(), client.ObjectKeyFromObject(next), next); !apierrors.IsNotFound(err) {
		t.Errorf("a pod that is lost is not evicted: %v", err)
	}
	r.expectEvents(t, "ReplicaLost")
}

var errNoServer = errors.New("no server answers")

// run runs a command in a container of a database.
func (r *replicated) run(ctx context.Context, target podexec.Container, command podexec.Command) (string, error) {
	for i, output := range r.prints {
		if target.Pod.Name != r.pod(i) || command.Input != "" {
			continue
		}
		r.asked(ctx, i, command.Args[len(command.Args)-1])
		if output == "" {
			return "", errNoServer
		}
		return output, nil
	}
	return "", nil
}

// observe runs a pass in which the replicas are observed again.
func (r *replicated) observe(t *testing.T) {
	t.Helper()
	r.clock.Step(observeAgain)
	r.reconcile(t)
}

// expect compares the replicas in the status.
func (r *replicated) expect(t *testing.T, want ...v1.DatabaseReplica) {
	t.Helper()
	if diff := cmp.Diff(want, r.stored(t).Status.DatabaseReplicas); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
}

// expectEvents compares the events about rebuilt replicas since the last call.
func (r *replicated) expectEvents(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for {
		select {
		case event := <-r.recorder.Events:
			if reason := strings.Fields(event)[1]; strings.HasPrefix(reason, "Replica") {
				got = append(got, reason)
			}
			continue
		default:
		}
		break
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func (r *replicated) pod(i int) string { return fmt.Sprintf("%s-database-%d", r.key.Name, i) }

func (r *replicated) livePod(t *testing.T, i int) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: r.key.Namespace, Name: r.pod(i)}, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// createPod creates a pod of the database that runs.
func (r *replicated) createPod(ctx context.Context, t *testing.T, i int, ready bool) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.key.Namespace, Name: r.pod(i), Labels: map[string]string{
			v1.ManagedByLabel: v1.ManagedBy, v1.PartOfLabel: "ecommerceapp", v1.InstanceLabel: r.key.Name, v1.ComponentLabel: database.Component,
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: database.Container, Image: "postgres:15.4"}}},
	}
	if err := r.Create(ctx, pod); err != nil {
		t.Error(err) // A command calls it, which is no goroutine of the test.
		return
	}
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: statusOf(ready)}}
	if err := r.Status().Update(ctx, pod); err != nil {
		t.Error(err)
	}
}

// replace replaces a pod by another one with its name.
func (r *replicated) replace(ctx context.Context, t *testing.T, i int) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.key.Namespace, Name: r.pod(i)}}
	if err := r.Delete(ctx, pod, client.GracePeriodSeconds(0)); err != nil {
		t.Error(err)
	}
	r.createPod(ctx, t, i, false)
}

func (r *replicated) setReady(t *testing.T, i int, ready bool) {
	t.Helper()
	pod := r.livePod(t, i)
	pod.Status.Conditions[0].Status = statusOf(ready)
	if err := r.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

func statusOf(ready bool) corev1.ConditionStatus {
	if ready {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// allowDisruption makes the disruption budget of the database allow evictions.
func (r *replicated) allowDisruption(t *testing.T) {
	t.Helper()
	budget := &policyv1.PodDisruptionBudget{}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: r.key.Namespace, Name: r.key.Name + "-database"}, budget); err != nil {
		t.Fatal(err)
	}
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, ExpectedPods: 3, CurrentHealthy: 2, DesiredHealthy: 2, DisruptionsAllowed: 0,
	}
	if err := r.Status().Update(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
}
