package kind

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// testRepair deletes every child of the copy, and then edits every one: each comes back
// as it was, with the same data.
func (e *environment) testRepair(t *testing.T) {
	t.Helper()
	e.inEach(t, "objects", func(t *testing.T, r *region) {
		t.Helper()
		id := r.order(t, shop)
		before := r.children(t)
		if len(before) < 20 {
			t.Fatalf("%d children, want those of a whole shop: %v", len(before), before)
		}
		for _, c := range before {
			if keptByPeople(c) {
				continue
			}
			r.must(t, "delete", c.kind, c.name, "--namespace", namespace, "--wait=false")
		}
		r.whole(t, before)
		for _, c := range before {
			r.must(t, "label", c.kind, c.name, "--namespace", namespace, "--overwrite", v1.ComponentLabel+"=edited-by-hand")
		}
		r.whole(t, before)
		if !slices.Contains(r.inDatabase(t, shop), id) {
			t.Errorf("order %s is lost", id)
		}
	})
	e.running(t, shop)
}

// keptByPeople reports whether deleting a child loses data that no controller can
// restore: passwords and volumes.
func keptByPeople(c child) bool { return c.kind == "secrets" || c.kind == "persistentvolumeclaims" }

// children returns the objects that the copy of the shop owns.
func (r *region) children(t *testing.T) []child {
	t.Helper()
	found, err := r.findChildren(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (r *region) findChildren(ctx context.Context, app string) ([]child, error) {
	var all []child
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "PersistentVolumeClaim"},
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Group: "batch", Version: "v1", Kind: "CronJob"}, {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := r.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{v1.InstanceLabel: app}); err != nil {
			return nil, fmt.Errorf("listing children: %w", err)
		}
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		for i := range list.Items {
			if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.Kind == "EcommerceApp" {
				all = append(all, child{kind: plural.GroupResource().String(), name: list.Items[i].Name, component: list.Items[i].Labels[v1.ComponentLabel]})
			}
		}
	}
	return all, nil
}

// whole waits until the copy has its children again, unedited, and runs.
func (r *region) whole(t *testing.T, want []child) {
	t.Helper()
	fleettest.Within(t, patience, "the children of "+shop+" in "+r.name, func(ctx context.Context) error {
		got, err := r.findChildren(ctx, shop)
		if err != nil {
			return err
		}
		missing := byName(want)
		for _, c := range got {
			if c.component == missing[c.String()].component {
				delete(missing, c.String())
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("%w: not as they were: %v", errChildren, slices.Sorted(maps.Keys(missing)))
		}
		copied := &v1.EcommerceApp{}
		if err := r.get(ctx, shop, copied); err != nil {
			return err
		}
		if copied.Status.Phase != v1.PhaseRunning {
			return fmt.Errorf("%w: phase %s: %s", errWaiting, copied.Status.Phase, copied.Status.Message)
		}
		return nil
	})
}

func byName(children []child) map[string]child {
	all := map[string]child{}
	for _, c := range children {
		all[c.String()] = c
	}
	return all
}

// testScale sets replicas with the hub's scale subresource, and with an autoscaler: each in
// turn determines the number of pods, and no other client writes it.
func (e *environment) testScale(t *testing.T) {
	t.Helper()
	e.hub.must(t, "scale", "ecommerceapp", shop, "--namespace", namespace, "--replicas=2")
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) { r.awaitPods(t, "frontend", 2) })
	}
	// There are no metrics here: an autoscaler then keeps its bounds and no more.
	e.change(t, `{"spec":{"backend":{"replicas":null,"autoscaling":{"minReplicas":3,"maxReplicas":4}}}}`)
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			r.awaitPods(t, "backend", 3)
			scaler := &autoscalingv2.HorizontalPodAutoscaler{}
			if err := r.get(t.Context(), shop+"-backend", scaler); err != nil {
				t.Fatal(err)
			}
			deployment := &appsv1.Deployment{}
			if err := r.get(t.Context(), shop+"-backend", deployment); err != nil {
				t.Fatal(err)
			}
			mark, generation := r.mark(t), deployment.Generation
			// A controller that fights would write at the next reconciliation.
			e.reconcile(t)
			if err := r.get(t.Context(), shop+"-backend", deployment); err != nil {
				t.Fatal(err)
			}
			if deployment.Generation != generation || *deployment.Spec.Replicas != 3 {
				t.Errorf("generation %d became %d, replicas are %d", generation, deployment.Generation, *deployment.Spec.Replicas)
			}
			if writes := r.since(t, mark).Writes().Of("deployments"); len(writes) > 0 {
				t.Errorf("Deployments were written:\n%s", writes)
			}
		})
	}
	// Whatever an autoscaler, or a person in its place, decides within the bounds stays.
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			r.must(t, "scale", "deployment", shop+"-backend", "--namespace", namespace, "--replicas=4")
			e.reconcile(t)
			r.awaitPods(t, "backend", 4)
		})
	}
	e.change(t, `{"spec":{"backend":{"autoscaling":null,"replicas":2}}}`)
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) { r.awaitPods(t, "backend", 2) })
	}
	e.running(t, shop)
}

func (r *region) awaitPods(t *testing.T, component string, want int) {
	t.Helper()
	fleettest.Within(t, patience, fmt.Sprintf("%d pods of the %s in %s", want, component, r.name), func(ctx context.Context) error {
		pods, err := r.pods(ctx, component)
		if err != nil {
			return err
		}
		running := 0
		for i := range pods {
			if ready(&pods[i]) {
				running++
			}
		}
		if running != want || len(pods) != want {
			return fmt.Errorf("%w: %d of %d are ready", errWaiting, running, len(pods))
		}
		return nil
	})
}

// reconcile triggers a reconciliation of the shop in every cluster, and waits for it.
func (e *environment) reconcile(t *testing.T) {
	t.Helper()
	at := time.Now().UTC().Format(time.RFC3339Nano)
	e.hub.must(t, "annotate", "ecommerceapp", shop, "--namespace", namespace, "--overwrite", v1.ReconcileAtAnnotation+"="+at)
	fleettest.Within(t, patience, shop+" to be looked at again", func(ctx context.Context) error {
		app, err := e.app(ctx, shop)
		if err == nil && app.Status.LastHandledReconcileAt != at {
			err = errWaiting
		}
		for _, r := range e.regions {
			copied := &v1.EcommerceApp{}
			if err == nil {
				err = r.get(ctx, shop, copied)
			}
			if err == nil && copied.Status.LastHandledReconcileAt != at {
				err = fmt.Errorf("%w: in %s", errWaiting, r.name)
			}
		}
		return err
	})
}

// testStorage requests larger volumes, of a class without expansion and of one with it: the
// first request is refused with a reason, the second volume grows.
func (e *environment) testStorage(t *testing.T) {
	t.Helper()
	app, err := e.app(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	had := app.Spec.Database.Storage
	e.change(t, `{"spec":{"database":{"storage":"200Gi"}}}`)
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			fleettest.Within(t, patience, "the refusal", func(ctx context.Context) error {
				copied := &v1.EcommerceApp{}
				if err := r.get(ctx, shop, copied); err != nil {
					return err
				}
				for _, c := range copied.Status.Components {
					if c.Name == "database" && c.Reason == v1.ReasonStorageNotExpandable {
						return nil
					}
				}
				return fmt.Errorf("%w: components %+v", errWaiting, copied.Status.Components)
			})
			r.order(t, shop) // The shop goes on as it is.
			// The class now allows expansion: the refused request succeeds.
			r.expandable(t, true)
			t.Cleanup(func() { r.expandable(t, false) })
			e.reconcile(t) // Otherwise it is retried within five minutes.
			r.awaitResize(t, shop, "200Gi")
		})
	}
	e.running(t, shop)
	t.Logf("the volumes grew from %s", had)
}

// expandable sets whether volumes of the default class can grow.
func (r *region) expandable(t *testing.T, yes bool) {
	t.Helper()
	classes := &storagev1.StorageClassList{}
	ctx := context.WithoutCancel(t.Context())
	if err := r.List(ctx, classes); err != nil {
		t.Fatal(err)
	}
	for i := range classes.Items {
		class := &classes.Items[i]
		if class.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" {
			continue
		}
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"allowVolumeExpansion":%t}`, yes))
		if err := r.Patch(ctx, class, patch); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitResize waits until the claim of a database requests this size, and sets its status:
// kind's provisioner has no resizer.
func (r *region) awaitResize(t *testing.T, app, size string) {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	fleettest.Within(t, patience, "the claim to grow", func(ctx context.Context) error {
		if err := r.get(ctx, "data-"+app+"-database-0", claim); err != nil {
			return err
		}
		if got := claim.Spec.Resources.Requests[corev1.ResourceStorage]; got.Cmp(resource.MustParse(size)) != 0 {
			return fmt.Errorf("%w: it asks for %s", errWaiting, got.String())
		}
		return nil
	})
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"capacity":{"storage":%q}}}`, size))
	if err := r.Status().Patch(t.Context(), claim, patch); err != nil {
		t.Fatal(err)
	}
}
