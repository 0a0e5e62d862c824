package spoke_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// handEdit is an edit by hand that stops or redirects a shop.
type handEdit struct {
	object client.Object
	patch  string
}

// handEdits returns edits of fields that are defaults in a shop.
func handEdits(app *v1.EcommerceApp) map[string]handEdit {
	named := func(part string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-" + part}
	}
	backend := func() client.Object { return &appsv1.Deployment{ObjectMeta: named("backend")} }
	database := func() client.Object { return &appsv1.StatefulSet{ObjectMeta: named("database")} }
	dumps := func() client.Object { return &batchv1.CronJob{ObjectMeta: named("database-backup")} }
	service := func(part string) client.Object { return &corev1.Service{ObjectMeta: named(part)} }
	return map[string]handEdit{
		"type of a Service":              {service("backend"), `{"spec":{"type":"ExternalName","externalName":"evil.example.com"}}`},
		"node port of a Service":         {service("frontend"), `{"spec":{"type":"NodePort"}}`},
		"selector of a Service":          {service("database-primary"), `{"spec":{"selector":{"app":"evil"}}}`},
		"pods that are not ready":        {service("frontend"), `{"spec":{"publishNotReadyAddresses":true}}`},
		"traffic of the node":            {service("backend"), `{"spec":{"internalTrafficPolicy":"Local"}}`},
		"paused Deployment":              {backend(), `{"spec":{"paused":true}}`},
		"readiness of pods":              {backend(), `{"spec":{"minReadySeconds":500}}`},
		"partition of a StatefulSet":     {database(), `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}`},
		"updates on deletion":            {database(), `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`},
		"readiness of the database":      {database(), `{"spec":{"minReadySeconds":500}}`},
		"claims of a StatefulSet":        {database(), `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete","whenDeleted":"Delete"}}}`},
		"suspended dumps":                {dumps(), `{"spec":{"suspend":true}}`},
		"suspended Jobs of dumps":        {dumps(), `{"spec":{"jobTemplate":{"spec":{"suspend":true}}}}`},
		"Jobs of dumps without pods":     {dumps(), `{"spec":{"jobTemplate":{"spec":{"parallelism":0}}}}`},
		"autoscaler that does not scale": {&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: named("frontend")}, `{"spec":{"behavior":{"scaleUp":{"selectPolicy":"Disabled"},"scaleDown":{"selectPolicy":"Disabled"}}}}`},
	}
}

// testStoppedByHand makes each edit, and checks that it is undone, for good, and that no pod is replaced.
func testStoppedByHand(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.shop(t)
		app.Spec.Frontend.Replicas, app.Spec.Frontend.Autoscaling = nil, &v1.Autoscaling{MinReplicas: 2, MaxReplicas: 4}
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		pods := w.podUIDs(t, app)
		for name, edit := range handEdits(app) {
			t.Run(name, func(t *testing.T) {
				before := w.specOf(t.Context(), t, edit.object)
				if err := w.Patch(t.Context(), edit.object, client.RawPatch(types.MergePatchType, []byte(edit.patch)), client.FieldOwner("kubectl-patch")); err != nil {
					t.Fatal(err)
				}
				framework.Eventually(t, "repair of "+name, func(ctx context.Context) error {
					if after := w.specOf(ctx, t, edit.object); !equality.Semantic.DeepEqual(before, after) {
						return errNotYet
					}
					return nil
				})
			})
		}
		w.awaitRunning(t, app)
		after := w.podUIDs(t, app) // The autoscaler may have added one meanwhile.
		maps.DeleteFunc(after, func(name string, _ types.UID) bool { _, before := pods[name]; return !before })
		if diff := cmp.Diff(pods, after); diff != "" {
			t.Errorf("pods were replaced (-before +after):\n%s", diff)
		}
		mark := w.mark(t)
		w.reconcile(t, app, "after the edits")
		// The controllers of Kubernetes may still write statuses.
		if log := w.writes(t, mark, app.Namespace).Except("events", "ecommerceapps"); len(log) > 0 {
			t.Errorf("a reconciliation wrote:\n%s", log)
		}
	}
}

// specOf returns the spec of an object without what the API server allocates.
func (e *environment) specOf(ctx context.Context, t *testing.T, object client.Object) any {
	t.Helper()
	if err := e.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	switch o := object.(type) {
	case *corev1.Service:
		spec := o.Spec.DeepCopy()
		spec.ClusterIP, spec.ClusterIPs, spec.IPFamilies, spec.IPFamilyPolicy, spec.SessionAffinity = "", nil, nil, nil, ""
		return *spec
	case *appsv1.Deployment:
		return o.Spec
	case *appsv1.StatefulSet:
		return o.Spec
	case *batchv1.CronJob:
		return o.Spec
	case *autoscalingv2.HorizontalPodAutoscaler:
		return o.Spec
	}
	return nil
}

func (e *environment) podUIDs(t *testing.T, app *v1.EcommerceApp) map[string]types.UID {
	t.Helper()
	pods := &corev1.PodList{}
	if err := e.List(t.Context(), pods, client.InNamespace(app.Namespace)); err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, pod := range pods.Items {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// testOrderByHand puts variables and init containers in another order, which no ownership tells of.
func testOrderByHand(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.shop(t)
		app.Spec.Backend.Env = []v1.EnvVar{{Name: "HOST_A", Value: "a"}, {Name: "URL_A", Value: "http://$(HOST_A)"}}
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		for name, edit := range map[string]struct {
			object client.Object
			env    func(client.Object) []corev1.EnvVar
		}{
			"Deployment": {&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-backend"}},
				func(o client.Object) []corev1.EnvVar {
					return o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Env
				}},
			"StatefulSet": {&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database"}},
				func(o client.Object) []corev1.EnvVar {
					return o.(*appsv1.StatefulSet).Spec.Template.Spec.InitContainers[0].Env
				}},
			"CronJob": {&batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database-backup"}},
				func(o client.Object) []corev1.EnvVar {
					return o.(*batchv1.CronJob).Spec.JobTemplate.Spec.Template.Spec.Containers[0].Env
				}},
		} {
			t.Run(name, func(t *testing.T) {
				var before []string
				framework.Edit(t, w, edit.object, func(o client.Object) {
					before = namesOf(edit.env(o))
					slices.Reverse(edit.env(o))
				})
				framework.Eventually(t, "the order", func(ctx context.Context) error {
					if err := w.Get(ctx, client.ObjectKeyFromObject(edit.object), edit.object); err != nil {
						return err
					}
					if after := namesOf(edit.env(edit.object)); !slices.Equal(before, after) {
						return errors.New(strings.Join(after, " "))
					}
					return nil
				})
			})
		}
		w.awaitRunning(t, app)
		mark := w.mark(t)
		w.reconcile(t, app, "after the edits")
		// The controllers of Kubernetes may still write statuses.
		if log := w.writes(t, mark, app.Namespace).Except("events", "ecommerceapps"); len(log) > 0 {
			t.Errorf("a reconciliation wrote:\n%s", log)
		}
	}
}

func namesOf(env []corev1.EnvVar) []string {
	var names []string
	for _, e := range env {
		names = append(names, e.Name)
	}
	return names
}
