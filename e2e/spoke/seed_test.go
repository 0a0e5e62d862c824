package spoke_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

// TestSpoke runs the cases that keep to their namespace, some at a time.
func TestSpoke(t *testing.T) {
	t.Parallel()
	w := start(t)
	t.Run("seed", testSeed(w))
	t.Run("other kinds", testOtherKinds(w))
	t.Run("repair", testRepair(w))
	t.Run("stopped by hand", testStoppedByHand(w))
	t.Run("order by hand", testOrderByHand(w))
	t.Run("admission", testAdmission(w))
	t.Run("deleted claim", testDeletedClaim(w))
	t.Run("changes", testChanges(w))
	t.Run("gating of versions", testVersionGating(w))
	t.Run("restart annotation", testImageUpdated(w))
	t.Run("without a hub", testWithoutHub(w))
	t.Run("storage", testStorage(w))
	t.Run("storage that cannot grow", testStorageNotExpandable(w))
	t.Run("no node fits", testUnschedulable(w))
	t.Run("long name", testLongName(w))
	t.Run("conflict and adoption", testConflict(w))
	t.Run("lost credentials", testLostCredentials(w))
	t.Run("lost data", testLostDatabase(w))
	t.Run("lost data of a MySQLCluster", testLostMySQLCluster(w))
	t.Run("kept replicas", testKeptReplicas(w))
	t.Run("causes in events", testCauses(w))
	t.Run("failing webhook", testFailingWebhook(w))
	t.Run("deletion", testDeletion(w))
	t.Run("held deletion", testHeldDeletion(w))
	t.Run("terminating namespace", testTerminatingNamespace(w))
	t.Run("settings of pods", testPodSettings(w))
}

// TestSerial runs the cases that stop the spoke, freeze the kubelets or change what the cluster serves, one after
// the other.
func TestSerial(t *testing.T) {
	t.Parallel()
	w := start(t)
	t.Run("certificates", testCertificate(w))
	t.Run("drift", testDrift(w))
	t.Run("admission after a start", testAdmissionAfterStart(w))
	t.Run("paths", testPaths(w))
	t.Run("unchanged", testUnchanged(w))
	t.Run("blue-green", testBlueGreen(w))
	t.Run("frozen kubelets", testFrozen(w))
	t.Run("availability", testAvailability(w))
	t.Run("repair while down", testRepairWhileDown(w))
	t.Run("changed back", testChangedBack(w))
	t.Run("safe mode", testSafeMode(w))
	t.Run("bad image of the database", testBadImage(w))
	t.Run("changed credentials", testRotation(w))
	t.Run("login of a deleted database", testLeftOverLogin(w))
	t.Run("changed credentials of a MySQLCluster", testMySQLRotation(w))
	t.Run("replicas", testReplicas(w))
	t.Run("forbidden", testForbidden(w))
	t.Run("denied by a policy", testDenied(w))
	t.Run("optional kinds", testOptionalKinds(w))
	t.Run("ingress classes", testIngress(w))
	t.Run("gateway", testGateway(w))
	t.Run("missing definitions", testMissingDefinitions(w))
	t.Run("protected definitions", testProtectedDefinitions(w))
}

// testSeed checks that the seed's object comes up as written: five components in
// order, each object written once.
func testSeed(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.shop(t)
		mark := w.mark(t)
		begin := time.Now()
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		took := time.Since(begin)
		if app.Status.Message != "Application is running" || app.Status.Ready != "5/5" {
			t.Errorf("message is %q, ready is %q", app.Status.Message, app.Status.Ready)
		}
		checkComponents(t, app)
		degraded := framework.Condition(app.Status.Conditions, v1.ConditionDegraded)
		if degraded.Status != metav1.ConditionTrue || degraded.Reason != v1.ReasonLoginNotConfigured || !strings.Contains(degraded.Message, "spec.security.authentication.emailDomains") {
			t.Errorf("no user can log in, and Degraded is %+v", degraded)
		}
		log := w.writes(t, mark, app.Namespace).Except("events")
		checkWrittenOnce(t, log, app, took)
		checkOrder(t, log,
			"statefulsets/my-ecommerce-app-database", "deployments/my-ecommerce-app-backend",
			"deployments/my-ecommerce-app-frontend", "services/my-ecommerce-app-frontend", "ingresses/my-ecommerce-app-ingress")
		awaitEvents(t, w, app, "Created")
		checkLabels(t, w, app)
	}
}

func checkComponents(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	var names []string
	for _, c := range app.Status.Components {
		names = append(names, c.Name)
		if !c.Ready || c.Phase != v1.PhaseRunning {
			t.Errorf("%s is %s: %s", c.Name, c.Phase, c.Message)
		}
	}
	if diff := cmp.Diff([]string{"database", "backend", "frontend", "ingress", "monitoring"}, names); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	if app.Status.Replicas != 3 || app.Status.Selector == "" {
		t.Errorf("scale shows %d replicas of %q", app.Status.Replicas, app.Status.Selector)
	}
}

// checkWrittenOnce checks that each object was written once, and the status rarely.
func checkWrittenOnce(t *testing.T, log audit.Log, app *v1.EcommerceApp, took time.Duration) {
	t.Helper()
	counts := make(map[string]int)
	for _, e := range log {
		counts[e.Resource+"/"+e.Subresource+"/"+e.Name]++
	}
	statuses := counts["ecommerceapps/status/"+app.Name]
	delete(counts, "ecommerceapps/status/"+app.Name)
	// Once before the pods of the database, and once when it was created.
	if mark := "secrets//" + app.Name + "-database-created"; counts[mark] == 2 {
		counts[mark] = 1
	}
	for object, n := range counts {
		if n != 1 {
			t.Errorf("%s was written %d times", object, n)
		}
	}
	// Creating, one for each component that becomes ready before the last, Running;
	// and, on a slow machine, messages at most every two seconds.
	if statuses > 6+int(took/(2*time.Second)) {
		t.Errorf("the status was written %d times:\n%s", statuses, log)
	}
	t.Logf("%d objects written once each, %d status writes", len(counts)-1, statuses)
}

// checkOrder checks that objects were first written in an order.
func checkOrder(t *testing.T, log audit.Log, objects ...string) {
	t.Helper()
	last := -1
	for _, object := range objects {
		i := slices.IndexFunc(log, func(e audit.Event) bool { return e.Resource+"/"+e.Name == object })
		if i <= last {
			t.Errorf("%s is write %d, after write %d of what comes before it", object, i, last)
		}
		last = max(i, last)
	}
}

// awaitEvents checks that there is an event of a reason for the app, and that no
// component made more than a few.
func awaitEvents(t *testing.T, w *environment, app *v1.EcommerceApp, reasons ...string) {
	t.Helper()
	framework.Await(t, w, app, "events", func(*v1.EcommerceApp) error {
		var list corev1.EventList
		if err := w.List(t.Context(), &list, client.InNamespace(app.Namespace)); err != nil {
			return err
		}
		for _, reason := range reasons {
			if !slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
				return e.Reason == reason && e.InvolvedObject.Name == app.Name && e.InvolvedObject.UID == app.UID
			}) {
				return fmt.Errorf("no event of reason %s", reason)
			}
		}
		return nil
	})
}

// checkLabels checks that each child can be found by its labels and belongs to the app.
func checkLabels(t *testing.T, w *environment, app *v1.EcommerceApp) {
	t.Helper()
	children := w.children(t.Context(), t, app)
	if len(children) < 15 {
		t.Errorf("only %d children carry the app's UID", len(children))
	}
	for _, child := range children {
		labels := child.GetLabels()
		if labels[v1.ManagedByLabel] != v1.ManagedBy || labels[v1.InstanceLabel] != app.Name || labels[v1.ComponentLabel] == "" {
			t.Errorf("%s %s has labels %v", child.GetObjectKind().GroupVersionKind().Kind, child.GetName(), labels)
		}
		if len(child.GetAnnotations()[v1.SpecHashAnnotation]) != 64 {
			t.Errorf("%s %s has no hash", child.GetObjectKind().GroupVersionKind().Kind, child.GetName())
		}
	}
}

// children returns the objects that carry an app's UID.
func (e *environment) children(ctx context.Context, t testing.TB, app client.Object) []client.Object {
	t.Helper()
	var all []client.Object
	for _, list := range childLists() {
		if err := e.List(ctx, list, client.InNamespace(app.GetNamespace()),
			client.MatchingLabels{v1.OwnerUIDLabel: string(app.GetUID())}); err != nil {
			t.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			object := item.(client.Object)
			gvk, err := e.GroupVersionKindFor(object)
			if err != nil {
				t.Fatal(err)
			}
			object.GetObjectKind().SetGroupVersionKind(gvk)
			all = append(all, object)
		}
	}
	return all
}

func controlled(object client.Object) bool { return metav1.GetControllerOf(object) != nil }
