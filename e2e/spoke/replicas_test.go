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

// Outputs of the servers of a database.
const (
	primaryPrints   = "primary 5 1 0/7000000\noldest 000000010000000000000005\nsegment 16777216\nreplica 127.0.0.2 75\n"
	followerPrints  = "recovers streams 5 1 0/7000000 0\n"
	lostPrints      = "recovers waits 5 1 0/4FFFFFF 0\n"
	promotedPrints  = "promoted waits 5 2 0/4FFFFFF 0\n"
	otherDatabase   = "recovers waits 6 1 0/4FFFFFF 0\n"
	rebuildsReplica = ".rebuild-at"
)

// testReplicas observes the replicas of a database. One that needs what the primary no longer has is
// evicted, and its claim stays. Another one that is not ready holds that off, until neither is. One that
// hangs delays no other.
func testReplicas(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app, pods := w.replicatedShop(t)
		claim := &corev1.PersistentVolumeClaim{}
		claimKey := client.ObjectKey{Namespace: app.Namespace, Name: "data-" + pods[2].Name}
		if err := w.Get(t.Context(), claimKey, claim); err != nil {
			t.Fatal(err)
		}
		key := func(i int) string { return client.ObjectKeyFromObject(pods[i]).String() }
		w.commands.print(map[string]string{key(0): primaryPrints, key(1): followerPrints, key(2): lostPrints})
		w.setUnready(t, app, pods[1])
		following := v1.DatabaseReplica{Name: pods[1].Name, State: v1.ReplicaFollowing, LagSeconds: new(int64(60))}
		w.awaitReplicas(t, app, following, v1.DatabaseReplica{Name: pods[2].Name, State: v1.ReplicaLost})
		awaitEvents(t, w, app, "ReplicaNotRebuilt")
		w.checkRefused(t, pods[2])
		w.setUnready(t, app, pods[2])
		awaitEvents(t, w, app, "ReplicaLost")
		framework.Await(t, w, pods[2], "is replaced", replaced(pods[2].UID))
		if !w.commands.has(key(2), rebuildsReplica) {
			t.Error("the next pod would not copy the primary's data")
		}

		w.commands.print(map[string]string{key(0): primaryPrints, key(1): followerPrints, key(2): followerPrints})
		w.awaitReplicas(t, app, following, v1.DatabaseReplica{Name: pods[2].Name, State: v1.ReplicaFollowing, LagSeconds: new(int64(0))})
		w.loseDatabasePod(t, app, 1) // The next one is ready.
		w.awaitRunning(t, app)
		after := &corev1.PersistentVolumeClaim{}
		if err := w.Get(t.Context(), claimKey, after); err != nil || after.UID != claim.UID || after.DeletionTimestamp != nil {
			t.Errorf("the claim was replaced: %v", err)
		}

		following.LagSeconds = new(int64(0)) // The pod has another address.
		w.commands.hang(key(2))
		w.awaitReplicas(t, app, following, v1.DatabaseReplica{Name: pods[2].Name, State: v1.ReplicaUnknown})
		w.commands.hang("")
	}
}

// testKeptReplicas checks that the data of replicas that may have what the primary lacks is kept and reported.
func testKeptReplicas(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app, pods := w.replicatedShop(t)
		key := func(i int) string { return client.ObjectKeyFromObject(pods[i]).String() }
		w.commands.print(map[string]string{key(0): primaryPrints, key(1): promotedPrints, key(2): otherDatabase})
		w.awaitReplicas(t, app, v1.DatabaseReplica{Name: pods[1].Name, State: v1.ReplicaPromoted}, v1.DatabaseReplica{Name: pods[2].Name, State: v1.ReplicaDiverged})
		w.awaitDegraded(t, app, v1.ReasonReplicaDiverged, "the data of "+pods[1].Name+", "+pods[2].Name+" may have what the primary lacks")
		asked := w.commands.count(key(2))
		framework.Await(t, w, app, "is observed again", func(*v1.EcommerceApp) error {
			if w.commands.count(key(2)) < asked+3 {
				return errNotYet
			}
			return nil
		})
		for i := range pods {
			if w.commands.has(key(i), rebuildsReplica) {
				t.Errorf("%s was asked to remove its data", pods[i].Name)
			}
		}
	}
}

// replicatedShop returns a running shop with two replicas of its database, and the pods of that.
func (e *environment) replicatedShop(t *testing.T) (*v1.EcommerceApp, []*corev1.Pod) {
	t.Helper()
	app := e.shop(t)
	app.Spec.Database.Replicas = new(int32(3))
	framework.Create(t, e, app)
	e.awaitRunning(t, app)
	return app, e.databasePods(t, app)
}

// awaitReplicas waits for what the status says of replicas.
func (e *environment) awaitReplicas(t *testing.T, app *v1.EcommerceApp, want ...v1.DatabaseReplica) {
	t.Helper()
	framework.Await(t, e, app, "has its replicas observed", func(app *v1.EcommerceApp) error {
		if diff := cmp.Diff(want, app.Status.DatabaseReplicas); diff != "" {
			return fmt.Errorf("replicas (-want +got): %s", diff)
		}
		return nil
	})
}

// databasePods returns the pods of an application's database, to which it gives addresses: the first
// 127.0.0.1, and so on.
func (e *environment) databasePods(t *testing.T, app *v1.EcommerceApp) []*corev1.Pod {
	t.Helper()
	pods := make([]*corev1.Pod, *app.Spec.Database.Replicas)
	for i := range pods {
		pods[i] = &corev1.Pod{}
		key := client.ObjectKey{Namespace: app.Namespace, Name: fmt.Sprintf("%s-database-%d", app.Name, i)}
		if err := e.Get(t.Context(), key, pods[i]); err != nil {
			t.Fatal(err)
		}
		if err := e.setAddress(t.Context(), pods[i], fmt.Sprintf("127.0.0.%d", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	return pods
}

// setAddress gives a pod an address, as the simulated kubelet does not.
func (e *environment) setAddress(ctx context.Context, pod *corev1.Pod, ip string) error {
	patch := fmt.Appendf(nil, `{"status":{"podIP":%q,"podIPs":[{"ip":%q}]}}`, ip, ip)
	return e.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch))
}

// setUnready makes a pod of a database fail its readiness probe, as the disruption budget observes it.
func (e *environment) setUnready(t *testing.T, app *v1.EcommerceApp, pod *corev1.Pod) {
	t.Helper()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database"}}
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(budget), budget); err != nil {
		t.Fatal(err)
	}
	healthy := budget.Status.CurrentHealthy
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	before := pod.DeepCopy()
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status = corev1.ConditionFalse
		}
	}
	if err := e.Status().Patch(t.Context(), pod, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	framework.Await(t, e, budget, "observes the pod", func(budget *policyv1.PodDisruptionBudget) error {
		if budget.Status.CurrentHealthy >= healthy {
			return errNotYet
		}
		return nil
	})
}

// checkRefused checks that an event says which budget keeps a pod, which is not replaced.
func (e *environment) checkRefused(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	now := &corev1.Pod{}
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(pod), now); err != nil || now.UID != pod.UID || now.DeletionTimestamp != nil {
		t.Errorf("the pod was replaced: %v", err)
	}
	var list corev1.EventList
	if err := e.List(t.Context(), &list, client.InNamespace(pod.Namespace)); err != nil {
		t.Fatal(err)
	}
	for _, event := range list.Items {
		if event.Reason == "ReplicaNotRebuilt" && !strings.Contains(event.Message, "needs 2 healthy pods and has 2 currently") {
			t.Errorf("the event says %q", event.Message)
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
