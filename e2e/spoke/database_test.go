package spoke_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// badImage is one that no node can pull.
const badImage = "registry.invalid/database:13.4"

// testBadImage gives a database an image that cannot be pulled, and a good one
// after that: no user has to delete the broken pod.
func testBadImage(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Run("of one that runs", func(t *testing.T) {
			app := w.shop(t)
			app.Spec.Database.Replicas = new(int32(2))
			framework.Create(t, w, app)
			w.awaitRunning(t, app)
			framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Database.Image = badImage })
			w.awaitBroken(t, app, 1)
			w.repair(t, app)
		})
		t.Run("of a new one", func(t *testing.T) {
			app := w.shop(t)
			app.Spec.Database.Replicas = new(int32(2))
			app.Spec.Database.Image = badImage
			framework.Create(t, w, app)
			w.awaitBroken(t, app, 0)
			w.repair(t, app)
		})
		t.Run("of one that was started in order", func(t *testing.T) {
			app := w.runningShop(t)
			claimed := w.claimUID(t, app)
			w.expectReplaced(app)
			w.stop()
			w.recreateOrdered(t, app)
			w.run(t)
			w.repair(t, app)
			if w.claimUID(t, app) != claimed {
				t.Error("the database has another claim")
			}
		})
	}
}

// awaitBroken waits until a pod of the database, and the status, show the bad image.
func (e *environment) awaitBroken(t *testing.T, app *v1.EcommerceApp, ordinal int) {
	t.Helper()
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = app.Namespace, fmt.Sprintf("%s-database-%d", app.Name, ordinal)
	framework.Await(t, e, pod, "a pod of the bad image", func(pod *corev1.Pod) error {
		if pod.Spec.Containers[0].Image != badImage || pod.DeletionTimestamp != nil {
			return errNotYet
		}
		return nil
	})
	framework.Await(t, e, app, "the database to be down", func(app *v1.EcommerceApp) error {
		if c := part(app, "database"); c.Ready || c.ReadyReplicas == c.Replicas || !strings.HasSuffix(c.Message, "image "+badImage+" of container database cannot be pulled") {
			return fmt.Errorf("database is %+v", c)
		}
		return nil
	})
	framework.AwaitCondition(t, e, app, metav1.Condition{Type: v1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: v1.ReasonImagePullBackOff})
}

// testUnschedulable asks for more than a node has.
func testUnschedulable(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.runningShop(t)
		before := app.Spec.Backend.Resources
		large := v1.Amounts{v1.ResourceCPU: quantity("100")}
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
			app.Spec.Backend.Resources.Requests, app.Spec.Backend.Resources.Limits = large, large
		})
		degraded := framework.AwaitCondition(t, w, app, metav1.Condition{Type: v1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: v1.ReasonUnschedulable})
		if want := "backend: no node fits: Insufficient cpu"; degraded.Message != want {
			t.Errorf("Degraded says %q, want %q", degraded.Message, want)
		}
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Backend.Resources = before })
		w.awaitRunning(t, app)
		framework.AwaitCondition(t, w, app, metav1.Condition{Type: v1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: v1.ReasonLoginNotConfigured})
	}
}

// repair sets a good image and waits until it runs everywhere.
func (e *environment) repair(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	framework.Edit(t, e, app, func(app *v1.EcommerceApp) { app.Spec.Database.Image = "" })
	e.awaitRolledOut(t, app, "postgres:"+app.Spec.Database.Version)
	e.awaitRunning(t, app)
	if c := part(app, "database"); c.ReadyReplicas != *app.Spec.Database.Replicas {
		t.Errorf("the database is %+v", c)
	}
}

func (e *environment) claimUID(t *testing.T, app *v1.EcommerceApp) string {
	t.Helper()
	claim := e.claim(app)
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	return string(claim.UID)
}

func (e *environment) claim(app *v1.EcommerceApp) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "data-" + app.Name + "-database-0"}}
}

func (e *environment) set(app *v1.EcommerceApp) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database"}}
}

// recreateOrdered makes a database's StatefulSet one that starts its pods in order,
// as earlier releases did, and that waits for a pod with a bad image.
func (e *environment) recreateOrdered(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	set := e.set(app)
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatal(err)
	}
	old := set.DeepCopy()
	old.ResourceVersion, old.UID, old.ManagedFields = "", "", nil
	delete(old.Annotations, v1.RenderedAnnotation) // Earlier releases did not write it.
	old.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	for i := range old.Spec.Template.Spec.Containers {
		old.Spec.Template.Spec.Containers[i].Image = badImage
	}
	if err := e.Delete(t.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	framework.AwaitGone(t, e, set)
	framework.Create(t, e, old)
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = app.Namespace, app.Name+"-database-0"
	framework.Await(t, e, pod, "a pod of the bad image", func(pod *corev1.Pod) error {
		if pod.Spec.Containers[0].Image != badImage || pod.DeletionTimestamp != nil {
			return errNotYet
		}
		return nil
	})
}

// testStorageNotExpandable asks for a larger volume of a class that forbids it:
// the shop goes on with everything else, says so, and grows once it may.
func testStorageNotExpandable(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fixed"}, Provisioner: "csi.example.com", AllowVolumeExpansion: new(false)}
		framework.Create(t, w, class)
		app := w.shop(t)
		app.Spec.Database.StorageClassName = new(class.Name)
		w.allowLogin(t, app)
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		set := w.set(app)
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			t.Fatal(err)
		}
		uid := set.UID
		w.expectReplaced(app)
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Database.Storage = "200Gi" })
		w.awaitTooSmall(t, app)
		awaitEvents(t, w, app, "SyncFailed")
		w.checkQuiet(t, app)

		framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
			app.Spec.Database.Version = "13.5"
			app.Spec.Frontend.Image = "ecommerce-frontend:v3.0.0"
		})
		w.awaitRolledOut(t, app, "postgres:13.5")
		w.awaitTooSmall(t, app)
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			t.Fatal(err)
		}
		if have := asksFor(set); set.UID != uid || have != "100Gi" {
			t.Errorf("the set was made again (%v), its template asks for %s", set.UID != uid, have)
		}

		framework.Edit(t, w, class, func(c *storagev1.StorageClass) { c.AllowVolumeExpansion = new(true) })
		framework.Await(t, w, w.claim(app), "the claim to grow", func(c *corev1.PersistentVolumeClaim) error {
			if have := c.Status.Capacity[corev1.ResourceStorage]; have.Cmp(quantity("200Gi")) != 0 {
				return fmt.Errorf("capacity is %s", have.String())
			}
			return nil
		})
		framework.Await(t, w, set, "the template to ask for more", func(s *appsv1.StatefulSet) error {
			if have := asksFor(s); have != "200Gi" {
				return fmt.Errorf("it asks for %s", have)
			}
			return nil
		})
		dumps := &corev1.PersistentVolumeClaim{}
		dumps.Namespace, dumps.Name = app.Namespace, app.Name+"-database-backup"
		framework.Await(t, w, dumps, "the claim of the dumps to grow, and to be otherwise as it was", func(c *corev1.PersistentVolumeClaim) error {
			if have := c.Spec.Resources.Requests[corev1.ResourceStorage]; have.String() != "200Gi" || c.Labels[v1.InstanceLabel] != app.Name || c.Annotations[v1.SpecHashAnnotation] == "" {
				return fmt.Errorf("it is %+v", c)
			}
			return nil
		})
		w.awaitRunning(t, app)
		if c := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionDegraded); c.Status != metav1.ConditionFalse {
			t.Errorf("Degraded is %s: %s", c.Status, c.Message)
		}
	}
}

func asksFor(set *appsv1.StatefulSet) string {
	size := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
	return size.String()
}

// awaitTooSmall waits until an app runs, and says that its claim cannot grow.
func (e *environment) awaitTooSmall(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	framework.Await(t, e, app, "the app to run with a claim that cannot grow", func(app *v1.EcommerceApp) error {
		c := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionDegraded)
		if app.Status.Phase != v1.PhaseRunning || c.Status != metav1.ConditionTrue || c.Reason != v1.ReasonStorageNotExpandable || c.ObservedGeneration != app.Generation {
			return fmt.Errorf("phase %s: %s (%v)", app.Status.Phase, app.Status.Message, c)
		}
		for _, text := range []string{"claim data-" + app.Name + "-database-0", "allowVolumeExpansion of its StorageClass fixed"} {
			if !strings.Contains(c.Message, text) {
				return fmt.Errorf("message %q lacks %q", c.Message, text)
			}
		}
		if s := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionStalled); s.Status != metav1.ConditionTrue || s.Reason != c.Reason || app.Status.ObservedGeneration != app.Generation {
			return fmt.Errorf("observed generation %d of %d, %v", app.Status.ObservedGeneration, app.Generation, s)
		}
		if !meta.IsStatusConditionTrue(app.Status.Conditions, v1.ConditionReady) || !part(app, "database").Ready {
			return fmt.Errorf("the database is %+v", part(app, "database"))
		}
		return messageContains(app, "database", c.Message[len("database: "):])
	})
}

// checkQuiet checks that an app whose claim cannot grow costs no writes but the tries.
func (e *environment) checkQuiet(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	e.reconcile(t, app, "while too small")
	mark := e.mark(t)
	e.reconcile(t, app, "while too small, again")
	var log, others audit.Log
	// A watch may deliver what a write changed before the write is answered and logged.
	read := func() { log = e.writes(t, mark, app.Namespace) }
	framework.Eventually(t, "the write of the status", func(context.Context) error {
		read()
		if others = log.Where(func(event audit.Event) bool { return event.Resource != "persistentvolumeclaims" }); len(others) == 0 {
			return errNotYet
		}
		return nil
	})
	if len(log) == len(others) || len(others) != 1 || others[0].Subresource != "status" {
		t.Errorf("want tries of the claim and one write of the status, got:\n%s", log)
	}
}

// awaitRolledOut waits until the pods of the database and of the frontend, as far as
// there are any, are those of the wanted images.
func (e *environment) awaitRolledOut(t *testing.T, app *v1.EcommerceApp, database string) {
	t.Helper()
	framework.Eventually(t, "the new images to run", func(ctx context.Context) error {
		var pods corev1.PodList
		if err := e.List(ctx, &pods, client.InNamespace(app.Namespace)); err != nil {
			return err
		}
		want := map[string]string{"database": database, "frontend": app.Spec.Frontend.Image}
		if len(pods.Items) == 0 {
			return errNotYet
		}
		for _, pod := range pods.Items {
			image, rolled := want[pod.Labels[v1.ComponentLabel]]
			if rolled && pod.Spec.Containers[0].Image != image {
				return fmt.Errorf("%s runs %s", pod.Name, pod.Spec.Containers[0].Image)
			}
		}
		return nil
	})
}
