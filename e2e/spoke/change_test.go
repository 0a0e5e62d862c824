package spoke_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// phases watches the phases of an app in the background.
func phases(t *testing.T, w *environment, namespace string) func() []v1.Phase {
	t.Helper()
	return phasesOf(t, w, namespace, &v1.EcommerceAppList{})
}

// phasesOf watches the phases of the one object of a kind in a namespace, an EcommerceApp or a
// WebApp.
func phasesOf(t *testing.T, w *environment, namespace string, list client.ObjectList) func() []v1.Phase {
	t.Helper()
	watch, err := w.Watch(t.Context(), list, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watch.Stop)
	var mu sync.Mutex
	var seen []v1.Phase
	go func() {
		for event := range watch.ResultChan() {
			var phase v1.Phase
			switch o := event.Object.(type) {
			case *v1.EcommerceApp:
				phase = o.Status.Phase
			case *webappv1.WebApp:
				phase = o.Status.Phase
			default:
				continue
			}
			mu.Lock()
			if len(seen) == 0 || seen[len(seen)-1] != phase {
				seen = append(seen, phase)
			}
			mu.Unlock()
		}
	}()
	return func() []v1.Phase {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

// awaitPhases waits until an app has gone through phases, in order, and checks that
// each step is one of the table.
func awaitPhases(t *testing.T, seen func() []v1.Phase, want ...v1.Phase) {
	t.Helper()
	framework.Eventually(t, fmt.Sprint("the phases ", want), func(context.Context) error {
		got := seen()
		if len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
			return fmt.Errorf("phases so far: %v", got)
		}
		return nil
	})
	got := seen()
	for i := 1; i < len(got); i++ {
		if !component.Legal(got[i-1], got[i]) {
			t.Errorf("went from %s to %s: %v", got[i-1], got[i], got)
		}
	}
}

// testChanges walks an app through its phases.
func testChanges(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.shop(t)
		seen := phases(t, w, app.Namespace)
		framework.Create(t, w, app)
		awaitPhases(t, seen, v1.PhasePending, v1.PhaseCreating, v1.PhaseRunning)
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Image = "ecommerce-frontend:v3.0.0" })
		awaitPhases(t, seen, v1.PhaseRunning, v1.PhaseUpdating, v1.PhaseRunning)
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(5)) })
		awaitPhases(t, seen, v1.PhaseRunning, v1.PhaseScaling, v1.PhaseRunning)
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
			app.Spec.Backend.Env = []v1.EnvVar{{Name: "LOG", Value: "debug"}}
		})
		awaitPhases(t, seen, v1.PhaseScaling, v1.PhaseRunning, v1.PhaseUpdating, v1.PhaseRunning)
		w.changeSetting(t, app)
		awaitPhases(t, seen, v1.PhaseUpdating, v1.PhaseRunning, v1.PhaseUpdating, v1.PhaseRunning)
		awaitEvents(t, w, app, "ImageUpdated", "Scaled", "ConfigurationUpdated")

		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Monitoring = v1.Monitoring{} })
		w.awaitRunning(t, app)
		if c := part(app, "monitoring"); c.Phase != v1.PhaseDisabled || !c.Ready {
			t.Errorf("monitoring is %s", c.Phase)
		}
		framework.Eventually(t, "what monitoring had to be gone", func(ctx context.Context) error {
			for _, child := range w.children(ctx, t, app) {
				if child.GetLabels()[v1.ComponentLabel] == "monitoring" {
					return errors.New(describe(child) + " is left")
				}
			}
			return nil
		})
		if err := w.Delete(t.Context(), app); err != nil {
			t.Fatal(err)
		}
		awaitPhases(t, seen, v1.PhaseRunning, v1.PhaseDeleting)
	}
}

// changeSetting edits a setting, and checks that the pods are replaced by some that read it from another
// ConfigMap, and that the one of the pods before is deleted after the last of them.
func (e *environment) changeSetting(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	before, mark := e.settingsOf(t, app), e.mark(t)
	framework.Edit(t, e, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Port = 8081 })
	framework.AwaitGone(t, e, before)
	after := e.settingsOf(t, app)
	if after.Data["PORT"] != "8081" {
		t.Errorf("the pods read %s: %v", after.Name, after.Data)
	}
	log := mark.Since(t, e.cluster).In(app.Namespace).Writes().Succeeded()
	checkOrder(t, log, "configmaps/"+after.Name, "deployments/"+app.Name+"-frontend", "configmaps/"+before.Name)
	pruned := slices.IndexFunc(log, func(event audit.Event) bool { return event.Resource == "configmaps" && event.Name == before.Name })
	if n := len(log[:max(pruned, 0)].Where(func(event audit.Event) bool {
		return event.Resource+event.Subresource == "pods" && event.Verb == "create"
	})); n != 5 {
		t.Errorf("%s is deleted after %d pods are created, want 5:\n%s", before.Name, n, log)
	}
	if n := len(log.Of("configmaps")); n != 2 {
		t.Errorf("%d writes of ConfigMaps, want one that creates and one that deletes:\n%s", n, log)
	}
}

// settingsOf returns the ConfigMap with the settings that the pods of the frontend are to read.
func (e *environment) settingsOf(t *testing.T, app *v1.EcommerceApp) *corev1.ConfigMap {
	t.Helper()
	frontend, settings := &appsv1.Deployment{}, &corev1.ConfigMap{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-frontend"}, frontend); err != nil {
		t.Fatal(err)
	}
	name := frontend.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: name}, settings); err != nil {
		t.Fatal(err)
	}
	return settings
}

// testVersionGating changes the images of all components at once: each waits for
// the one before it to run its new version.
func testVersionGating(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.runningShop(t)
		mark := w.mark(t)
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
			app.Spec.Database.Version = "13.5"
			app.Spec.Backend.Image = "ecommerce-backend:v3.0.0"
			app.Spec.Frontend.Image = "ecommerce-frontend:v3.0.0"
		})
		w.awaitRunning(t, app)
		log := mark.Since(t, w.cluster).In(app.Namespace).Writes()
		checkOrder(t, log.ByServiceAccount(config.Namespace, config.SpokeServiceAccount),
			"statefulsets/"+app.Name+"-database", "deployments/"+app.Name+"-backend", "deployments/"+app.Name+"-frontend")
		// The database's pod was replaced before the backend was touched.
		pod := slices.IndexFunc(log, func(e audit.Event) bool { return e.Resource == "pods" && e.Verb == "delete" })
		backend := slices.IndexFunc(log, func(e audit.Event) bool {
			return e.Resource == "deployments" && e.Name == app.Name+"-backend" && e.User == "system:serviceaccount:"+config.Namespace+":"+config.SpokeServiceAccount
		})
		if pod < 0 || backend < pod {
			t.Errorf("the backend was written at %d, the database's pod replaced at %d", backend, pod)
		}
	}
}

// freeze stops the kubelets until its result is called, at the latest when the
// test ends.
func (e *environment) freeze(t *testing.T) (thaw func()) {
	t.Helper()
	if err := e.cluster.Freeze(t.Context(), fleet.Kwok); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	thaw = sync.OnceFunc(func() {
		if err := e.cluster.Thaw(ctx, fleet.Kwok); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(thaw)
	return thaw
}

// testFrozen stops the kubelets: what depends on the database is never made, and
// the status says why.
func testFrozen(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		thaw := w.freeze(t)
		app := w.shop(t)
		framework.Create(t, w, app)
		framework.Await(t, w, app, "the backend to wait", func(app *v1.EcommerceApp) error {
			if app.Status.Phase != v1.PhaseCreating {
				return fmt.Errorf("phase %s", app.Status.Phase)
			}
			return messageContains(app, "backend", "waiting for database")
		})
		w.reconcile(t, app, "while frozen")
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-backend"}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
			t.Errorf("the backend exists before the database is ready: %v", err)
		}
		thaw()
		w.awaitRunning(t, app)
	}
}

// testRepairWhileDown deletes the frontend while the database is not ready: what
// ran before is repaired at once.
func testRepairWhileDown(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app := w.runningShop(t)
		thaw := w.freeze(t)
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = app.Namespace, app.Name+"-database-0"
		if err := w.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
		framework.Await(t, w, app, "the database to be missed", func(app *v1.EcommerceApp) error {
			if part(app, "database").Ready {
				return errNotYet
			}
			return nil
		})
		deployment := &appsv1.Deployment{}
		deployment.Namespace, deployment.Name = app.Namespace, app.Name+"-frontend"
		w.checkRecreated(t, deployment)
		if part(app, "database").Ready {
			t.Error("the database was ready in the meantime: nothing was proved")
		}
		thaw()
		w.awaitRunning(t, app)
	}
}

// testImageUpdated checks that the annotation causes one rollout and goes, and that a token
// causes one and stays.
func testImageUpdated(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.runningShop(t)
		before := w.generations(t, app)
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
			app.Annotations = map[string]string{v1.ImageUpdatedAnnotation: "true"}
		})
		w.awaitRunning(t, app)
		w.reconcile(t, app, "after the restart")
		w.awaitRunning(t, app)
		if app.Annotations[v1.RestartedAtAnnotation] == "" {
			t.Error("no time of the restart")
		}
		after := w.generations(t, app)
		for _, name := range []string{app.Name + "-backend", app.Name + "-frontend"} {
			if after[name] != before[name]+1 {
				t.Errorf("%s went from generation %d to %d, want one rollout", name, before[name], after[name])
			}
		}
		awaitEvents(t, w, app, "ImageUpdated")
		t.Run("by a token", func(t *testing.T) { testRestartToken(t, w, app) })
	}
}

// testRestartToken checks that a token that stands in a manifest restarts once, whatever is
// applied again, and whatever a crash has left undone.
func testRestartToken(t *testing.T, w *environment, app *v1.EcommerceApp) {
	t.Helper()
	settle := func(change func(*v1.EcommerceApp)) map[string]int64 {
		framework.Edit(t, w, app, change)
		framework.Await(t, w, app, "the token to be remembered", func(app *v1.EcommerceApp) error {
			if app.Status.LastHandledImageUpdate != "release-7" {
				return fmt.Errorf("%q is", app.Status.LastHandledImageUpdate)
			}
			return nil
		})
		w.awaitRunning(t, app)
		w.reconcile(t, app, "after "+app.ResourceVersion)
		w.awaitRunning(t, app)
		return w.generations(t, app)
	}
	manifest := func(app *v1.EcommerceApp) {
		metav1.SetMetaDataAnnotation(&app.ObjectMeta, v1.ImageUpdatedAnnotation, "release-7")
	}
	before := w.generations(t, app)
	after := settle(manifest)
	if name := app.Name + "-backend"; after[name] != before[name]+1 || app.Annotations[v1.ImageUpdatedAnnotation] != "release-7" {
		t.Errorf("%s went from generation %d to %d, want one rollout; annotations %v", name, before[name], after[name], app.Annotations)
	}
	for name, change := range map[string]func(*v1.EcommerceApp){
		"the manifest is applied again": manifest,
		"the request is removed":        func(app *v1.EcommerceApp) { delete(app.Annotations, v1.ImageUpdatedAnnotation) },
		"and made again":                manifest,
		"the object is replaced": func(app *v1.EcommerceApp) {
			manifest(app)
			delete(app.Annotations, v1.RestartedAtAnnotation)
		},
	} {
		if diff := cmp.Diff(after, settle(change)); diff != "" {
			t.Errorf("%s, and pods are replaced (-want +got):\n%s", name, diff)
		}
	}
	framework.Await(t, w, app, "the status to be as after a crash between the restart and it", func(app *v1.EcommerceApp) error {
		app.Status.LastHandledImageUpdate = "release-6"
		return w.Status().Update(t.Context(), app)
	})
	if diff := cmp.Diff(after, settle(manifest)); diff != "" {
		t.Errorf("pods are replaced again after a crash (-want +got):\n%s", diff)
	}
}

func (e *environment) generations(t testing.TB, app *v1.EcommerceApp) map[string]int64 {
	t.Helper()
	var list appsv1.DeploymentList
	if err := e.List(t.Context(), &list, client.InNamespace(app.Namespace)); err != nil {
		t.Fatal(err)
	}
	generations := make(map[string]int64)
	for _, d := range list.Items {
		generations[d.Name] = d.Generation
	}
	return generations
}

// testStorage grows the database's volume under its running pod, and is refused
// to shrink it.
func testStorage(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.runningShop(t)
		w.expectReplaced(app)
		pod := w.podUID(t, app)
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Database.Storage = "200Gi" })
		claim := &corev1.PersistentVolumeClaim{}
		claim.Namespace, claim.Name = app.Namespace, "data-"+app.Name+"-database-0"
		framework.Await(t, w, claim, "the claim to grow", func(c *corev1.PersistentVolumeClaim) error {
			have := c.Status.Capacity[corev1.ResourceStorage]
			if have.Cmp(quantity("200Gi")) != 0 {
				return fmt.Errorf("capacity is %s", have.String())
			}
			return nil
		})
		set := &appsv1.StatefulSet{}
		set.Namespace, set.Name = app.Namespace, app.Name+"-database"
		framework.Await(t, w, set, "the StatefulSet to be made again", func(s *appsv1.StatefulSet) error {
			have := s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
			if have.Cmp(quantity("200Gi")) != 0 {
				return fmt.Errorf("template asks for %s", have.String())
			}
			return nil
		})
		w.awaitRunning(t, app)
		if w.podUID(t, app) != pod {
			t.Error("the database's pod was replaced")
		}
		shrink := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"database":{"storage":"50Gi"}}}`))
		if err := w.Patch(t.Context(), app.DeepCopy(), shrink); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "storage cannot shrink") {
			t.Errorf("shrinking was answered with %v", err)
		}
	}
}

func (e *environment) podUID(t testing.TB, app *v1.EcommerceApp) types.UID {
	t.Helper()
	pod := &corev1.Pod{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-database-0"}, pod); err != nil {
		t.Fatal(err)
	}
	return pod.UID
}
