package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/component"
)

func routeKind() schema.GroupVersionKind { return component.GatewayAPI().WithKind("HTTPRoute") }

func gatewayKind() schema.GroupVersionKind { return component.GatewayAPI().WithKind("Gateway") }

// cacheOf returns the cache of an optional kind.
func (o *optional) cacheOf(kind optionalKind) cache.Cache {
	if kind.isReadOnly() {
		return o.gateways
	}
	return o.cache
}

// slimGateway removes from a Gateway all but its identity and its addresses. It is a cache transform.
// Gateways belong to others: the spoke reads them only.
func slimGateway(object any) (any, error) {
	gateway, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	slim := sample(gateway.GroupVersionKind())
	slim.SetNamespace(gateway.GetNamespace())
	slim.SetName(gateway.GetName())
	slim.SetUID(gateway.GetUID())
	slim.SetResourceVersion(gateway.GetResourceVersion())
	if addresses, found, err := unstructured.NestedFieldNoCopy(gateway.Object, "status", "addresses"); found && err == nil {
		slim.Object["status"] = map[string]any{"addresses": addresses}
	}
	return slim, nil
}

// addressesChanged reports whether the addresses of a Gateway differ. Its status also counts its
// routes.
func addressesChanged(before, after any) bool {
	b, wasGateway := before.(*unstructured.Unstructured)
	a, isGateway := after.(*unstructured.Unstructured)
	return !wasGateway || !isGateway || !slices.Equal(component.ReportedAddresses(b), component.ReportedAddresses(a))
}

// notifyRoutes wakes the owners of the routes of a Gateway.
func (o *optional) notifyRoutes(ctx context.Context, object any) {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	gateway, ok := object.(*unstructured.Unstructured)
	if !ok || !o.has("httproutes."+component.GatewayAPI().Group) {
		return
	}
	routes := &unstructured.UnstructuredList{}
	routes.SetGroupVersionKind(routeKind().GroupVersion().WithKind("HTTPRouteList"))
	if err := o.cache.List(ctx, routes, client.UnsafeDisableDeepCopy); err != nil {
		o.log.Error(err, "Cannot list the routes of a Gateway")
		return
	}
	for i := range routes.Items {
		if slices.Contains(component.Gateways(&routes.Items[i]), component.KeyOf(gateway)) {
			o.notify(&routes.Items[i])
		}
	}
}
