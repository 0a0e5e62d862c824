package reconciler

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// observe reads the live objects from caches: those with the application's UID, the
// rendered ones, and the claims and pods of its StatefulSets.
func (r *reconciler[T]) observe(ctx context.Context, owner T, components []component.Component) (component.Live, error) {
	live := make(component.Live)
	for _, child := range r.member.Children(r.kind.Extra) {
		if child.ReadOnly {
			continue
		}
		if err := r.list(ctx, owner, child, live); err != nil {
			return nil, err
		}
	}
	for _, c := range components {
		for _, object := range c.Objects {
			if err := r.readWithPods(ctx, object.Resource, live); err != nil {
				return nil, err
			}
		}
	}
	return live, r.readGateways(ctx, live)
}

// readWithPods adds the live version of one object, and the claims with data and the pods of a StatefulSet.
func (r *reconciler[T]) readWithPods(ctx context.Context, want component.Resource, live component.Live) error {
	if err := r.read(ctx, want, live); err != nil {
		return err
	}
	for _, key := range component.DataClaims(want) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		if err := r.read(ctx, claim, live); err != nil {
			return err
		}
	}
	return r.readPods(ctx, want, live)
}

// readGateways adds the Gateways of the live routes, if the cluster's are cached.
func (r *reconciler[T]) readGateways(ctx context.Context, live component.Live) error {
	missing := make(map[component.Key]bool)
	for _, exists := range live {
		for _, key := range component.Gateways(exists) {
			missing[key] = true
		}
	}
	for key := range missing {
		gateway := &unstructured.Unstructured{}
		gateway.SetGroupVersionKind(component.GatewayAPI().WithKind(key.Kind))
		gateway.SetNamespace(key.Namespace)
		gateway.SetName(key.Name)
		if err := r.read(ctx, gateway, live); err != nil && !errors.Is(err, errNotWatched) {
			return err
		}
	}
	return nil
}

// readPods adds the live pods of a StatefulSet.
func (r *reconciler[T]) readPods(ctx context.Context, set component.Resource, live component.Live) error {
	for _, key := range component.Pods(set) {
		pod := &corev1.Pod{}
		err := r.member.Reader.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, pod)
		switch {
		case err == nil:
			pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(key.Kind))
			live[key] = pod
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("reading Pod %q: %w", key.Name, err)
		}
	}
	return nil
}

// list adds the application's live objects of one kind.
func (r *reconciler[T]) list(ctx context.Context, owner T, child Child, live component.Live) error {
	list, err := newList(child, r.member.Scheme)
	if err != nil {
		return err
	}
	if err := child.Reader.List(ctx, list, client.InNamespace(owner.GetNamespace()),
		client.MatchingLabels{v1.OwnerUIDLabel: string(owner.GetUID())}); err != nil {
		return fmt.Errorf("listing %s: %w", child.Kind.Kind, err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(component.Resource)
		if !ok {
			return fmt.Errorf("listing %s: %T is not an object", child.Kind.Kind, item)
		}
		object.GetObjectKind().SetGroupVersionKind(child.Kind)
		live[component.KeyOf(object)] = object
		return nil
	})
}

// read adds the live version of one object, unless it was read already.
func (r *reconciler[T]) read(ctx context.Context, want component.Resource, live component.Live) error {
	key := component.KeyOf(want)
	if live[key] != nil {
		return nil
	}
	gvk := want.GetObjectKind().GroupVersionKind()
	child, ok := r.child(gvk)
	if !ok {
		return fmt.Errorf("%s %q: %w", gvk.Kind, want.GetName(), errNotWatched)
	}
	object, err := newObject(child, r.member.Scheme)
	if err != nil {
		return err
	}
	err = child.Reader.Get(ctx, client.ObjectKeyFromObject(want), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s %q: %w", gvk.Kind, want.GetName(), err)
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	live[key] = object
	return nil
}

// child returns one kind of children, and false if the cluster does not serve it.
func (r *reconciler[T]) child(gvk schema.GroupVersionKind) (Child, bool) {
	for _, c := range r.member.Children(r.kind.Extra) {
		if c.Kind == gvk {
			return c, true
		}
	}
	return Child{}, false
}

// newList returns an empty list of a kind: a typed one where the scheme has it, unless it is partial.
func newList(child Child, scheme *runtime.Scheme) (client.ObjectList, error) {
	gvk := child.Kind
	listGVK := gvk.GroupVersion().WithKind(gvk.Kind + "List")
	if child.Partial {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(listGVK)
		return list, nil
	}
	if !scheme.Recognizes(listGVK) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(listGVK)
		return list, nil
	}
	typed, err := scheme.New(listGVK)
	if err != nil {
		return nil, fmt.Errorf("creating a list of %s: %w", gvk.Kind, err)
	}
	list, ok := typed.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("creating a list of %s: %T is not a list", gvk.Kind, typed)
	}
	return list, nil
}

// newObject returns an empty object of a kind: a typed one where the scheme has it, unless it is partial.
func newObject(child Child, scheme *runtime.Scheme) (client.Object, error) {
	gvk := child.Kind
	if child.Partial {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(gvk)
		return object, nil
	}
	if !scheme.Recognizes(gvk) {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		return object, nil
	}
	typed, err := scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("creating a %s: %w", gvk.Kind, err)
	}
	object, ok := typed.(client.Object)
	if !ok {
		return nil, fmt.Errorf("creating a %s: %T is not an object", gvk.Kind, typed)
	}
	return object, nil
}
