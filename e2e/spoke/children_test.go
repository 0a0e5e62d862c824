package spoke_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

func childLists() []client.ObjectList {
	return []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &autoscalingv2.HorizontalPodAutoscalerList{},
		&batchv1.CronJobList{}, &corev1.ConfigMapList{}, &corev1.PersistentVolumeClaimList{}, &corev1.SecretList{},
		&corev1.ServiceList{}, &corev1.ServiceAccountList{}, &networkingv1.IngressList{},
		&networkingv1.NetworkPolicyList{}, &policyv1.PodDisruptionBudgetList{},
	}
}

// testRepair deletes each child, and then changes some: all is put right.
func testRepair(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.runningShop(t)
		t.Run("deleted", testMadeAgain(w, app))
		t.Run("changed", testReverted(w, app))
		t.Run("metadata stripped", testStripped(w, app))
		t.Run("status written by hand", testStatusByHand(w, app))
		t.Run("foreign fields stay", testForeignFields(w, app))
		awaitEvents(t, w, app, "Created", "Updated")
	}
}

func testMadeAgain(w *environment, app *v1.EcommerceApp) func(*testing.T) {
	return func(t *testing.T) {
		for _, child := range w.children(t.Context(), t, app) {
			if controlled(child) {
				w.checkRecreated(t, child)
			}
		}
		w.awaitRunning(t, app)
	}
}

// checkRecreated deletes an object and waits until there is another.
func (e *environment) checkRecreated(t *testing.T, object client.Object) {
	t.Helper()
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	uid := object.GetUID()
	if err := e.Delete(t.Context(), object, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	framework.Await(t, e, object, object.GetName()+" to be made again", func(again client.Object) error {
		if again.GetUID() == uid {
			return errNotYet
		}
		return nil
	})
}

// testStripped takes labels, annotations and owners away from each child, one after the other,
// and the finalizer from the object: they come back, and nothing is replaced.
func testStripped(w *environment, app *v1.EcommerceApp) func(*testing.T) {
	return func(t *testing.T) {
		for _, child := range w.children(t.Context(), t, app) {
			if !controlled(child) {
				continue
			}
			for _, strip := range []func(client.Object){
				func(o client.Object) { o.SetLabels(nil) },
				func(o client.Object) { o.SetAnnotations(nil) },
				func(o client.Object) { o.SetOwnerReferences(nil) },
			} {
				framework.Edit(t, w, child.DeepCopyObject().(client.Object), strip)
				w.awaitMetadata(t, child)
			}
		}
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Finalizers = nil })
		framework.Await(t, w, app, "the finalizer to be back", func(app *v1.EcommerceApp) error {
			if !slices.Contains(app.Finalizers, v1.SpokeFinalizer) {
				return errNotYet
			}
			return nil
		})
	}
}

// awaitMetadata waits until an object has the metadata again that we write.
func (e *environment) awaitMetadata(t *testing.T, want client.Object) {
	t.Helper()
	live := want.DeepCopyObject().(client.Object)
	framework.Await(t, e, live, want.GetName()+" to be put right", func(client.Object) error {
		for key, value := range want.GetLabels() {
			if live.GetLabels()[key] != value {
				return fmt.Errorf("%T lacks label %s", live, key)
			}
		}
		// A generated Secret is written once: nothing is compared with its hash.
		_, once := live.(*corev1.Secret)
		if !once && live.GetAnnotations()[v1.SpecHashAnnotation] != want.GetAnnotations()[v1.SpecHashAnnotation] {
			return fmt.Errorf("%T lacks its hash", live)
		}
		if !controlled(live) {
			return fmt.Errorf("%T has no owner", live)
		}
		return nil
	})
	if live.GetUID() != want.GetUID() {
		t.Errorf("%T %s was replaced", live, live.GetName())
	}
}

// testStatusByHand checks that a status reports what is observed after another client wrote it.
func testStatusByHand(w *environment, app *v1.EcommerceApp) func(*testing.T) {
	return func(t *testing.T) {
		written := &v1.EcommerceApp{}
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(app), written); err != nil {
			t.Fatal(err)
		}
		before := written.DeepCopy()
		written.Status.Phase, written.Status.Message = v1.PhaseFailed, "by hand"
		if err := w.Status().Patch(t.Context(), written, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		// Long before the next resync.
		w.awaitRunning(t, app)
	}
}

func testForeignFields(w *environment, app *v1.EcommerceApp) func(*testing.T) {
	return func(t *testing.T) {
		deployment := &appsv1.Deployment{}
		deployment.Namespace, deployment.Name = app.Namespace, app.Name+"-backend"
		framework.Edit(t, w, deployment, func(d *appsv1.Deployment) { d.Labels["team"] = "checkout" })
		w.reconcile(t, app, "after the label")
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); err != nil {
			t.Fatal(err)
		}
		if deployment.Labels["team"] != "checkout" {
			t.Error("a label of someone else was removed")
		}
	}
}

func testReverted(w *environment, app *v1.EcommerceApp) func(*testing.T) {
	return func(t *testing.T) {
		deployment := &appsv1.Deployment{}
		deployment.Namespace, deployment.Name = app.Namespace, app.Name+"-frontend"
		framework.Edit(t, w, deployment, func(d *appsv1.Deployment) {
			d.Spec.Replicas = new(int32(1))
			d.Spec.Template.Spec.Containers[0].Image = "stranger:1"
		})
		framework.Await(t, w, deployment, "the Deployment to be as wanted", func(d *appsv1.Deployment) error {
			if *d.Spec.Replicas != 3 || d.Spec.Template.Spec.Containers[0].Image == "stranger:1" {
				return errNotYet
			}
			return nil
		})
		service := &corev1.Service{}
		service.Namespace, service.Name = app.Namespace, app.Name+"-frontend"
		port := int32(0)
		framework.Edit(t, w, service, func(s *corev1.Service) { port, s.Spec.Ports[0].Port = s.Spec.Ports[0].Port, 4321 })
		framework.Await(t, w, service, "the Service to be as wanted", func(s *corev1.Service) error {
			if s.Spec.Ports[0].Port != port || len(s.Spec.Ports) != 1 {
				return fmt.Errorf("ports are %v", s.Spec.Ports)
			}
			return nil
		})
		set, config := w.set(app), &corev1.ConfigMap{}
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			t.Fatal(err)
		}
		config.Namespace, config.Name = app.Namespace, set.Spec.Template.Spec.Volumes[0].ConfigMap.Name
		framework.Edit(t, w, config, func(c *corev1.ConfigMap) {
			for key := range c.Data {
				c.Data[key] = "broken"
			}
		})
		framework.Await(t, w, config, "the ConfigMap to be as wanted", func(c *corev1.ConfigMap) error {
			for _, value := range c.Data {
				if value == "broken" {
					return errNotYet
				}
			}
			return nil
		})
		w.awaitRunning(t, app)
	}
}

// reconcile forces a reconciliation and waits for its answer.
func (e *environment) reconcile(t testing.TB, app *v1.EcommerceApp, token string) {
	t.Helper()
	e.ask(t, app, token)
	e.awaitAnswer(t, app, token)
}

// ask asks for a reconciliation.
func (e *environment) ask(t testing.TB, app *v1.EcommerceApp, token string) {
	t.Helper()
	framework.Edit(t, e, app, func(app *v1.EcommerceApp) {
		if app.Annotations == nil {
			app.Annotations = map[string]string{}
		}
		app.Annotations[v1.ReconcileAtAnnotation] = token
	})
}

func (e *environment) awaitAnswer(t testing.TB, app *v1.EcommerceApp, token string) {
	t.Helper()
	framework.Await(t, e, app, "the answer to "+token, func(app *v1.EcommerceApp) error {
		if app.Status.LastHandledReconcileAt != token {
			return errNotYet
		}
		return nil
	})
}

// checkStatusWrites checks how many writes there were since a mark: of statuses alone.
func (e *environment) checkStatusWrites(t testing.TB, mark framework.Marks, app *v1.EcommerceApp, want int) {
	t.Helper()
	var log audit.Log
	// A watch may deliver what a write changed before the write is answered and logged.
	framework.Await(t, e, app, fmt.Sprint("writes: ", want), func(*v1.EcommerceApp) error {
		if log = e.writes(t, mark, app.Namespace); len(log) < want {
			return errNotYet
		}
		return nil
	})
	if len(log) != want || slices.ContainsFunc(log, func(event audit.Event) bool { return event.Subresource != "status" }) {
		t.Errorf("want %d writes of the status, got:\n%s", want, log)
	}
}

// versions returns what changes with each change of the children but of their statuses, which the controllers of Kubernetes
// write, on a busy machine long after the pods are ready.
func (e *environment) versions(t testing.TB, app *v1.EcommerceApp) map[string]string {
	t.Helper()
	versions := make(map[string]string)
	for _, child := range e.children(t.Context(), t, app) {
		versions[describe(child)] = child.GetResourceVersion()
		if generation := child.GetGeneration(); generation > 0 {
			versions[describe(child)] = fmt.Sprint(generation, child.GetUID(), child.GetLabels(), child.GetAnnotations())
		}
	}
	return versions
}

func describe(object client.Object) string {
	return object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
}

// testLongName checks that each name derived from one of 63 characters is valid.
func testLongName(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.shop(t)
		app.Name = "shop-whose-name-is-as-long-as-a-name-can-be-0123456789-01234567"
		if len(app.Name) != 63 {
			t.Fatalf("the name has %d characters", len(app.Name))
		}
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		if len(w.children(t.Context(), t, app)) < 15 {
			t.Errorf("only %d children", len(w.children(t.Context(), t, app)))
		}
	}
}

// testDeletion checks that components go in reverse order, that data stays, and
// that an app of the same name finds it again.
func testDeletion(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.runningShop(t)
		kept := w.kept(t, app)
		mark := w.mark(t)
		name, uid := app.Name, app.UID
		framework.Delete(t, w, app)
		log := w.writes(t, mark, app.Namespace)
		checkOrder(t, log.Deletes(), "ingresses/"+name+"-ingress", "deployments/"+name+"-frontend",
			"deployments/"+name+"-backend", "statefulsets/"+name+"-database")
		if lost := log.Deletes().Where(func(e audit.Event) bool { return slices.Contains(kept.names, e.Resource+"/"+e.Name) }); len(lost) > 0 {
			t.Errorf("data was deleted:\n%s", lost)
		}
		if creations := log.Code(201).Except("events"); len(creations) > 0 {
			t.Errorf("a deleted app was given children:\n%s", creations)
		}
		app.UID = uid
		for _, child := range w.children(t.Context(), t, app) {
			if controlled(child) {
				t.Errorf("%s is left", describe(child))
			}
		}
		again := shop(app.Namespace)
		framework.Create(t, w, again)
		w.awaitRunning(t, again)
		if diff := cmp.Diff(kept, w.kept(t, again), cmp.AllowUnexported(keeping{})); diff != "" {
			t.Error("the password or the claims of the database have changed")
		}
	}
}

// keeping holds the objects that outlive an app.
type keeping struct {
	names    []string
	password string
	claims   map[string]types.UID
}

func (e *environment) kept(t testing.TB, app *v1.EcommerceApp) keeping {
	t.Helper()
	kept := keeping{claims: map[string]types.UID{}}
	var claims corev1.PersistentVolumeClaimList
	if err := e.List(t.Context(), &claims, client.InNamespace(app.Namespace)); err != nil {
		t.Fatal(err)
	}
	for _, claim := range claims.Items {
		kept.claims[claim.Name] = claim.UID
		kept.names = append(kept.names, "persistentvolumeclaims/"+claim.Name)
	}
	if len(kept.claims) != 2 {
		t.Errorf("%d claims, want that of the database and that of its backups", len(kept.claims))
	}
	secret := &corev1.Secret{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-database-credentials"}, secret); err != nil {
		t.Fatal(err)
	}
	kept.password = string(secret.Data["password"])
	kept.names = append(kept.names, "secrets/"+secret.Name)
	mark := &corev1.Secret{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-database-created"}, mark); err != nil {
		t.Error(err)
	}
	kept.names = append(kept.names, "secrets/"+mark.Name)
	return kept
}

// testTerminatingNamespace deletes a whole namespace: the spoke does not recreate objects in it. It tries again
// every five seconds, however long the deletion takes.
func testTerminatingNamespace(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		const retried, each = 5 * time.Second, 20
		namespace := &corev1.Namespace{}
		namespace.Name = w.namespace(t)
		app := shop(namespace.Name)
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		mark := w.mark(t)
		begin := time.Now()
		framework.Delete(t, w, namespace)
		limit := each * (1 + int(time.Since(begin)/retried))
		if refused := w.writes(t, mark, namespace.Name).Code(403); len(refused.Except("events")) > limit {
			t.Errorf("%d writes were refused, want at most %d, first:\n%s", len(refused), limit, refused[:1])
		}
	}
}
