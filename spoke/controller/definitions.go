package controller

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// definitions returns an empty object for the metadata of CRDs.
func definitions() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return object
}

// slimDefinition removes from a CRD's metadata all but its identity and creation time. It is a cache
// transform. The annotations may have another copy of the whole CRD.
func slimDefinition(object any) (any, error) {
	if definition, ok := object.(*metav1.PartialObjectMetadata); ok {
		definition.ObjectMeta = metav1.ObjectMeta{
			Name: definition.Name, UID: definition.UID, ResourceVersion: definition.ResourceVersion,
			CreationTimestamp: definition.CreationTimestamp,
		}
	}
	return object, nil
}

// followDefinitions calls wake when the CRDs are listed, and at each change of them. It
// returns a function that reports whether they are listed.
func (o *optional) followDefinitions(ctx context.Context, wake func(any)) (listed func() bool, err error) {
	informer, err := o.cache.GetInformer(ctx, definitions(), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching CRDs: %w", err)
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: wake, DeleteFunc: wake}); err != nil {
		return nil, fmt.Errorf("watching CRDs: %w", err)
	}
	go func() {
		if toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			wake(nil)
		}
	}()
	return informer.HasSynced, nil
}

// defined returns when each of the cluster's CRDs, which must be listed, was created.
func (o *optional) defined(ctx context.Context) (map[string]time.Time, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	if err := o.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing CRDs: %w", err)
	}
	created := make(map[string]time.Time, len(list.Items))
	for _, item := range list.Items {
		created[item.Name] = item.CreationTimestamp.Time
	}
	return created, nil
}
