package spoke_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// awaitFailed waits until an app is failed for a reason, and its message says something.
func (e *environment) awaitFailed(t testing.TB, app *v1.EcommerceApp, reason string, texts ...string) {
	t.Helper()
	framework.Await(t, e, app, "the app to fail for "+reason, func(app *v1.EcommerceApp) error {
		ready := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionReady)
		stalled := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionStalled)
		if app.Status.Phase != v1.PhaseFailed || ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != reason {
			return fmt.Errorf("phase %s: %s (%v)", app.Status.Phase, app.Status.Message, ready)
		}
		if stalled == nil || stalled.Status != metav1.ConditionTrue || stalled.Reason != reason || app.Status.ObservedGeneration != app.Generation {
			return fmt.Errorf("Stalled is %v, generation %d of %d is observed", stalled, app.Status.ObservedGeneration, app.Generation)
		}
		for _, text := range texts {
			if !strings.Contains(ready.Message, text) {
				return fmt.Errorf("message %q lacks %q", ready.Message, text)
			}
		}
		return nil
	})
}

// testConflict puts a stranger's objects in the way: they stay as they are until
// they are handed over.
func testConflict(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.shop(t)
		stranger := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database"}}
		stranger.Spec.Ports = []corev1.ServicePort{{Name: "theirs", Port: 9999}}
		stranger.Spec.ClusterIP = corev1.ClusterIPNone
		stranger.Spec.Selector = map[string]string{"app": "theirs"}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database-credentials"}}
		secret.Data = map[string][]byte{"password": []byte("theirs")}
		framework.Create(t, w, stranger)
		framework.Create(t, w, secret)
		framework.Create(t, w, app)
		w.awaitFailed(t, app, v1.ReasonConflict, "Secret", app.Name+"-database-credentials", v1.AdoptAnnotation)
		awaitEvents(t, w, app, "Conflict")
		handOver(t, w, secret)
		w.awaitFailed(t, app, v1.ReasonConflict, "Service", app.Name+"-database")
		w.reconcile(t, app, "while in conflict")
		untouched := &corev1.Service{}
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(stranger), untouched); err != nil {
			t.Fatal(err)
		}
		if untouched.ResourceVersion != stranger.ResourceVersion {
			t.Error("a stranger's Service was written")
		}
		handOver(t, w, stranger)
		w.awaitRunning(t, app)
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
			t.Fatal(err)
		}
		if string(secret.Data["password"]) != "theirs" || len(secret.Data["username"]) == 0 {
			t.Error("an adopted Secret must keep its password and be completed")
		}

		// What another object controls is not for handing over.
		other := shop(app.Namespace)
		other.Name = "other"
		owned := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace, Name: "other-database",
			Annotations:     map[string]string{v1.AdoptAnnotation: string(v1.AdoptAlways)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: stranger.Name, UID: stranger.UID, Controller: new(true)}},
		}}
		framework.Create(t, w, owned)
		framework.Create(t, w, other)
		w.awaitFailed(t, other, v1.ReasonConflict, "ServiceAccount", "other-database", "Service")
	}
}

func handOver(t *testing.T, w *environment, object client.Object) {
	t.Helper()
	framework.Edit(t, w, object, func(o client.Object) {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1.AdoptAnnotation] = string(v1.AdoptAlways)
		o.SetAnnotations(annotations)
	})
}

// testForbidden takes the permission to write StatefulSets away, and gives it back.
func testForbidden(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		role := &rbacv1.ClusterRole{}
		role.Name = "shopfleet-spoke"
		framework.Edit(t, w, role, func(r *rbacv1.ClusterRole) {
			for i := range r.Rules {
				r.Rules[i].Resources = slices.DeleteFunc(r.Rules[i].Resources, func(s string) bool { return s == "statefulsets" })
			}
			r.Rules = append(r.Rules, rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"get", "list", "watch"}})
		})
		app := w.shop(t)
		framework.Create(t, w, app)
		w.awaitFailed(t, app, v1.ReasonForbidden, "database", "cannot patch", "statefulsets")
		awaitEvents(t, w, app, "Forbidden")
		framework.Apply(t, w.cluster, "config/rbac/spoke")
		w.awaitRunning(t, app)
	}
}

// testDenied denies Services with a policy, which answers 422, and lifts it: nothing but a
// retry notices. The spoke waits so long that the retry of a denial comes before the resync.
func testDenied(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		const resync = 10 * time.Minute / 20 // A denial is retried after half of it, and up to three tenths more.
		w.stop()
		w.runWith(t, retry.Waits{Scale: 1.0 / 20})
		app := w.shop(t)
		trial := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "trial"}}
		trial.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		lift := fleettest.Deny(t, w, trial)
		framework.Create(t, w, app)
		w.awaitFailed(t, app, v1.ReasonInvalidSpec, fleettest.Denial)
		awaitEvents(t, w, app, v1.ReasonInvalidSpec)
		// Nothing else wakes the spoke from here on.
		settled := w.markSettled(t, app.Namespace)
		services := func() audit.Log { return w.writes(t, settled, app.Namespace).Of("services") }
		framework.Eventually(t, "a retry that is denied", func(context.Context) error {
			if len(services().Code(http.StatusUnprocessableEntity)) == 0 {
				return errNotYet
			}
			return nil
		})
		lift()
		w.awaitRunning(t, app)
		denied, created := services().Code(http.StatusUnprocessableEntity), services().Succeeded()
		last := denied[len(denied)-1]
		if took := created[0].Received.Sub(last.Completed); took >= resync {
			t.Errorf("a Service that was denied was created %s later, by a resync and not by a retry: %s", took, created[0])
		}
		w.stop()
		w.run(t)
	}
}

// testOtherKinds runs the seeds' two other operators.
func testOtherKinds(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		namespace := w.namespace(t)
		web := apitest.SeedWebApp()
		web.Namespace = namespace
		seen := phasesOf(t, w, namespace, &webappv1.WebAppList{})
		framework.Create(t, w, web)
		framework.Await(t, w, web, "the WebApp to run", func(web *webappv1.WebApp) error {
			if web.Status.Phase != v1.PhaseRunning || web.Status.AvailableReplicas != 3 {
				return fmt.Errorf("%s: %s", web.Status.Phase, web.Status.Message)
			}
			return nil
		})
		db := apitest.SeedMySQLCluster()
		db.Namespace = namespace
		framework.Create(t, w, db)
		framework.Await(t, w, db, "the MySQLCluster to run", func(db *mysqlv1.MySQLCluster) error {
			if db.Status.Phase != v1.PhaseRunning || db.Status.Ready != "3/3" || !db.Status.StorageProvisioned {
				return fmt.Errorf("%s %s: %s", db.Status.Phase, db.Status.Ready, db.Status.Message)
			}
			return nil
		})
		var classes storagev1.StorageClassList
		if err := w.List(t.Context(), &classes, client.MatchingLabels{v1.OwnerUIDLabel: string(db.UID)}); err != nil {
			t.Fatal(err)
		}
		if len(classes.Items) != 1 || classes.Items[0].Parameters["iops"] != "3000" {
			t.Errorf("classes of the database: %v", classes.Items)
		}
		framework.Edit(t, w, web, func(web *webappv1.WebApp) { web.Spec.Replicas = new(int32(5)) })
		awaitPhases(t, seen, v1.PhaseCreating, v1.PhaseRunning, v1.PhaseScaling, v1.PhaseRunning)
		for _, object := range []client.Object{web, db} {
			framework.Delete(t, w, object)
		}
		awaitPhases(t, seen, v1.PhaseRunning, v1.PhaseDeleting)
	}
}

// serviceMonitors is a definition as the Prometheus operator has it, but for the schema.
const serviceMonitors = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: servicemonitors.monitoring.coreos.com
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {plural: servicemonitors, singular: servicemonitor, kind: ServiceMonitor, listKind: ServiceMonitorList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// testOptionalKinds adds an optional kind to the cluster, and takes it away.
func testOptionalKinds(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		// Another case may have defined it.
		framework.DeleteDefinition(t, w, definition("servicemonitors.monitoring.coreos.com"))
		framework.AwaitGone(t, w, definition("servicemonitors.monitoring.coreos.com"))
		app := w.runningShop(t)
		before := w.generations(t, app)
		w.awaitScraping(t, app, "true")
		if err := w.cluster.Apply(t.Context(), []byte(serviceMonitors)); err != nil {
			t.Fatal(err)
		}
		monitors := &unstructured.UnstructuredList{}
		monitors.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitorList"})
		atLeastOne := func(ctx context.Context) error {
			if err := w.List(ctx, monitors, client.InNamespace(app.Namespace)); err != nil {
				return err
			}
			if len(monitors.Items) == 0 {
				return errNotYet
			}
			return nil
		}
		framework.Eventually(t, "a ServiceMonitor", atLeastOne)
		monitor := monitors.Items[0].DeepCopy()
		uid := monitor.GetUID()
		if err := w.Delete(t.Context(), monitor); err != nil {
			t.Fatal(err)
		}
		framework.Await(t, w, monitor, "the ServiceMonitor to be made again", func(m *unstructured.Unstructured) error {
			if m.GetUID() == uid {
				return errNotYet
			}
			return nil
		})
		w.reconcile(t, app, "with monitors")
		w.awaitRunning(t, app)
		w.awaitScraping(t, app, "")
		mark := w.markSettled(t, app.Namespace)
		w.reconcile(t, app, "with monitors, again")
		w.checkStatusWrites(t, mark, app, 1)

		framework.Delete(t, w, definition("servicemonitors.monitoring.coreos.com"))
		w.awaitScraping(t, app, "true")
		w.awaitRunning(t, app)
		if diff := cmp.Diff(before, w.generations(t, app)); diff != "" {
			t.Errorf("Deployments are changed by the monitors (-before +after):\n%s", diff)
		}
		// The app can still be deleted.
		framework.Delete(t, w, app)
	}
}

// awaitScraping waits until the Service of the backend has the annotation for a Prometheus without operator, or none.
func (e *environment) awaitScraping(t *testing.T, app *v1.EcommerceApp, want string) {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-backend"}}
	framework.Await(t, e, service, "the annotation of scraping to be "+want, func(s *corev1.Service) error {
		if s.Annotations["prometheus.io/scrape"] != want {
			return errNotYet
		}
		return nil
	})
}

func definition(name string) *metav1.PartialObjectMetadata {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName(name)
	return crd
}

// testMissingDefinitions starts the spoke without the definition of one kind: the
// others work, and so does that kind once it is defined.
func testMissingDefinitions(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		w.stop()
		framework.Delete(t, w, definition("webapps.example.com"))
		w.run(t)
		app := w.runningShop(t)
		framework.Apply(t, w.cluster, "config/crd/bases")
		web := apitest.SeedWebApp()
		web.Namespace = app.Namespace
		framework.Create(t, w, web)
		framework.Await(t, w, web, "the WebApp to run", func(web *webappv1.WebApp) error {
			if web.Status.Phase != v1.PhaseRunning {
				return fmt.Errorf("%s: %s", web.Status.Phase, web.Status.Message)
			}
			return nil
		})
	}
}
