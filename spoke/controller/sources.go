package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// sources returns what wakes the reconciler of a kind: its objects, their
// children and pods, and changes of the optional kinds.
func sources(kind AnyKind, owner schema.GroupKind, c cache.Cache, o *optional) []source.Source {
	name, _ := kind.Identity()
	toOwner := func(_ context.Context, object client.Object) []reconcile.Request {
		return ownerOf(object, owner, name)
	}
	all := []source.Source{
		// Status too: another client's write to it is reverted; our own costs no request.
		source.Kind(c, kind.Object(), &handler.EnqueueRequestForObject{}, predicate.ResourceVersionChangedPredicate{}),
	}
	for _, child := range observedOf([]AnyKind{kind}) {
		all = append(all, source.Kind(c, child, handler.EnqueueRequestsFromMapFunc(toOwner), predicate.Funcs{UpdateFunc: childChanged}))
	}
	return append(all, &optionalSource{optional: o, reader: c, kind: kind, owner: owner})
}

// ownerOf returns the object that a child belongs to: its controller, or, for
// what has none, such as claims, the one that its labels name. Pods are controlled by workloads. What a
// hub copies belongs to all its owners, which may refer to it.
func ownerOf(child client.Object, owner schema.GroupKind, partOf string) []reconcile.Request {
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: child.GetNamespace()}}
	_, isPod := child.(*corev1.Pod)
	if controller := metav1.GetControllerOf(child); controller != nil && !isPod {
		if schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind() != owner {
			return nil
		}
		request.Name = controller.Name
		return []reconcile.Request{request}
	}
	labels := child.GetLabels()
	if labels[v1.PropagatedLabel] != "" {
		var all []reconcile.Request
		for _, reference := range child.GetOwnerReferences() {
			if schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind).GroupKind() == owner {
				request.Name = reference.Name
				all = append(all, request)
			}
		}
		return all
	}
	if child.GetNamespace() == "" || labels[v1.PartOfLabel] != partOf || labels[v1.InstanceLabel] == "" {
		return nil
	}
	request.Name = labels[v1.InstanceLabel]
	return []reconcile.Request{request}
}

// specChanged reports whether an update changed more than the status.
func specChanged(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || metadataChanged(e)
}

// childChanged lets pass changes of what counts of a child: of workloads, claims and Ingresses
// everything, of pods and autoscalers what is cached, of the rest what is not status. Of what a hub copies it only
// counts whether it exists.
func childChanged(e event.UpdateEvent) bool {
	if e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() || e.ObjectNew.GetLabels()[v1.PropagatedLabel] != "" {
		return false
	}
	switch after := e.ObjectNew.(type) {
	case *corev1.Pod:
		before, ok := e.ObjectOld.(*corev1.Pod)
		return !ok || podChanged(before, after)
	case *appsv1.Deployment, *appsv1.StatefulSet, *corev1.PersistentVolumeClaim, *networkingv1.Ingress:
		return true
	case *autoscalingv2.HorizontalPodAutoscaler:
		// It has no generation, and its metrics change all the time.
		before, ok := e.ObjectOld.(*autoscalingv2.HorizontalPodAutoscaler)
		return !ok || specChanged(e) || !equality.Semantic.DeepEqual(before.Status, after.Status)
	}
	// Kinds without a generation have no status either.
	return e.ObjectNew.GetGeneration() == 0 || specChanged(e)
}

func metadataChanged(e event.UpdateEvent) bool {
	before, after := e.ObjectOld, e.ObjectNew
	return !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetManagedFields(), after.GetManagedFields()) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil)
}

// optionalSource wakes the owner when an object of an optional kind changes, and all owners
// when a kind appears or disappears. Until the cluster's CRDs are known nothing is
// reconciled, because an unknown kind would be taken for an absent one.
type optionalSource struct {
	optional *optional
	reader   client.Reader
	kind     AnyKind
	owner    schema.GroupKind
}

// Start begins to fill the queue, and does not block.
func (s *optionalSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	name, _ := s.kind.Identity()
	s.optional.subscribe(ctx, func(object client.Object) {
		if object != nil {
			for _, request := range ownerOf(object, s.owner, name) {
				queue.Add(request)
			}
			return
		}
		list := s.kind.List()
		if err := s.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			s.optional.log.Error(err, "Cannot list what to reconcile", "kind", name)
			return
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err != nil {
				return err
			}
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}})
			return nil
		}); err != nil {
			s.optional.log.Error(err, "Cannot list what to reconcile", "kind", name)
		}
	})
	return nil
}

// WaitForSync blocks until the cluster's CRDs have been read.
func (s *optionalSource) WaitForSync(ctx context.Context) error {
	select {
	case <-s.optional.discovered:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the list of CRDs: %w", ctx.Err())
	}
}
