package spoke_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testReplicas observes the replicas of a database. One that needs what the primary no longer has is
// evicted, and its claim stays. Another one that is not ready holds that off, until neither is.
func testReplicas(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app := w.shop(t)
		app.Spec.Database.Replicas = new(int32(3))
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		pods := w.databasePods(t, app)
		claim := &corev1.PersistentVolumeClaim{}
		claimKey := client.ObjectKey{Namespace: app.Namespace, Name: "data-" + pods[2].Name}
		if err := w.Get(t.Context(), claimKey, claim); err != nil {
			t.Fatal(err)
		}
		key := func(i int) string { return client.ObjectKeyFromObject(pods[i]).String() }
		primary := "oldest 000000010000000000000005\nsegment 16777216\nreplica 127.0.0.2 75 t\n"
		w.commands.print(map[string]string{key(0): primary, key(2): "recovers t 0/4FFFFFF\n"})
		w.setUnready(t, app, pods[1])
		await := func(want ...v1.DatabaseReplica) {
			t.Helper()
			framework.Await(t, w, app, "has its replicas observed", func(app *v1.EcommerceApp) error {
				if diff := cmp.Diff(want, app.Status.DatabaseReplicas); diff != "" {
					return fmt.Errorf("replicas (-want +got): %s", diff)
				}
				return nil
			})
		}
		following := v1.DatabaseReplica{Name: pods[1].Name, State: v1.ReplicaFollowing, LagSeconds: new(int64(60))}
		await(following, v1.DatabaseReplica{Name: pods[2].Name, State: v1.ReplicaLost})
		awaitEvents(t, w, app, "ReplicaNotRebuilt")
		w.checkRefused(t, pods[2])
		w.setUnready(t, app, pods[2])
		awaitEvents(t, w, app, "ReplicaLost")
		framework.Await(t, w, pods[2], "is replaced", replaced(pods[2].UID))
		if !w.commands.has(key(2), ".rebuild") {
			t.Error("the next pod would not copy the primary's data")
		}

		w.commands.print(map[string]string{key(0): primary + "replica 127.0.0.4 0 t\n"})
		framework.Await(t, w, pods[2], "is the last one", func(pod *corev1.Pod) error {
			if pod.DeletionTimestamp != nil {
				return errNotYet
			}
			return w.setAddress(t.Context(), pod, "127.0.0.4")
		})
		await(following, v1.DatabaseReplica{Name: pods[2].Name, State: v1.ReplicaFollowing, LagSeconds: new(int64(0))})
		w.loseDatabasePod(t, app, 1) // The next one is ready.
		w.awaitRunning(t, app)
		after := &corev1.PersistentVolumeClaim{}
		if err := w.Get(t.Context(), claimKey, after); err != nil || after.UID != claim.UID || after.DeletionTimestamp != nil {
			t.Errorf("the claim was replaced: %v", err)
		}
	}
}

// databasePods returns the pods of an application's database, to which it gives addresses: the first
// 127.0.0.1, and so on.
func (w *environment) databasePods(t *testing.T, app *v1.EcommerceApp) []*corev1.Pod {
	t.Helper()
	pods := make([]*corev1.Pod, *app.Spec.Database.Replicas)
	for i := range pods {
		pods[i] = &corev1.Pod{}
		key := client.ObjectKey{Namespace: app.Namespace, Name: fmt.Sprintf("%s-database-%d", app.Name, i)}
		if err := w.Get(t.Context(), key, pods[i]); err != nil {
			t.Fatal(err)
		}
		if err := w.setAddress(t.Context(), pods[i], fmt.Sprintf("127.0.0.%d", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	return pods
}

// setAddress gives a pod an address, as the simulated kubelet does not.
func (w *environment) setAddress(ctx context.Context, pod *corev1.Pod, ip string) error {
	patch := fmt.Appendf(nil, `{"status":{"podIP":%q,"podIPs":[{"ip":%q}]}}`, ip, ip)
	return w.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch))
}

// setUnready makes a pod of a database fail its readiness probe, as the disruption budget observes it.
func (w *environment) setUnready(t *testing.T, app *v1.EcommerceApp, pod *corev1.Pod) {
	t.Helper()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database"}}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(budget), budget); err != nil {
		t.Fatal(err)
	}
	healthy := budget.Status.CurrentHealthy
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	before := pod.DeepCopy()
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status = corev1.ConditionFalse
		}
	}
	if err := w.Status().Patch(t.Context(), pod, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	framework.Await(t, w, budget, "observes the pod", func(budget *policyv1.PodDisruptionBudget) error {
		if budget.Status.CurrentHealthy >= healthy {
			return errNotYet
		}
		return nil
	})
}

// checkRefused checks that an event says which budget keeps a pod, which is not replaced.
func (w *environment) checkRefused(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	now := &corev1.Pod{}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(pod), now); err != nil || now.UID != pod.UID || now.DeletionTimestamp != nil {
		t.Errorf("the pod was replaced: %v", err)
	}
	var list corev1.EventList
	if err := w.List(t.Context(), &list, client.InNamespace(pod.Namespace)); err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Reason == "ReplicaNotRebuilt" && !strings.Contains(e.Message, "needs 2 healthy pods and has 2 currently") {
			t.Errorf("the event says %q", e.Message)
		}
	}
}

// replaced reports whether a pod is ready and has another UID.
func replaced(before types.UID) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.UID != before {
				return nil
			}
		}
		return errNotYet
	}
}
