package manifests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	fieldManager = "fleet"
	// servedTimeout bounds the wait for a definition to be served. A server under
	// load takes a few seconds.
	servedTimeout  = 30 * time.Second
	servedInterval = 50 * time.Millisecond
)

// applier holds the clients of one Apply.
type applier struct {
	client dynamic.Interface
	cache  discovery.CachedDiscoveryInterface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// Apply applies the objects and returns once the server has stored them all, and
// serves every definition among them.
func Apply(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("making a discovery client: %w", err)
	}
	cache := memory.NewMemCacheClient(discoverer)
	a := &applier{client: client, cache: cache, mapper: restmapper.NewDeferredDiscoveryRESTMapper(cache)}

	ordered := sorted(objects)
	waited := false
	for _, object := range ordered {
		if !definition(object) && !waited {
			if err := a.awaitServed(ctx, ordered); err != nil {
				return err
			}
			waited = true
		}
		if err := a.apply(ctx, object); err != nil {
			return fmt.Errorf("applying %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	if waited {
		return nil
	}
	return a.awaitServed(ctx, ordered)
}

func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	mapping, err := a.mapping(ctx, object.GroupVersionKind())
	if err != nil {
		return err
	}
	namespace := ""
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace = object.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
	}
	_, err = a.client.Resource(mapping.Resource).Namespace(namespace).
		Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}

// mapping retries kinds that are unknown: discovery follows a definition late.
func (a *applier) mapping(ctx context.Context, kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	var mapping *meta.RESTMapping
	err := await(ctx, func() (bool, error) {
		var err error
		mapping, err = a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			a.mapper.Reset()
			return false, err
		}
		return err == nil, err
	})
	return mapping, err
}

// awaitServed waits until the server has accepted the definitions among the
// objects.
func (a *applier) awaitServed(ctx context.Context, objects []*unstructured.Unstructured) error {
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	found := false
	for _, object := range objects {
		if !definition(object) {
			continue
		}
		found = true
		err := await(ctx, func() (bool, error) {
			stored, err := a.client.Resource(definitions).Get(ctx, object.GetName(), metav1.GetOptions{})
			if err != nil {
				return false, fmt.Errorf("reading its state: %w", err)
			}
			return established(stored)
		})
		if err != nil {
			return fmt.Errorf("waiting for definition %q: %w", object.GetName(), err)
		}
	}
	if found {
		a.mapper.Reset()
	}
	return nil
}

func established(object *unstructured.Unstructured) (bool, error) {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return false, fmt.Errorf("reading its conditions: %w", err)
	}
	for _, each := range conditions {
		condition, ok := each.(map[string]any)
		if !ok {
			continue
		}
		switch {
		case condition["type"] == "Established" && condition["status"] == "True":
			return true, nil
		case condition["type"] == "NamesAccepted" && condition["status"] == "False":
			return false, fmt.Errorf("its names are refused: %v", condition["message"])
		}
	}
	return false, errors.New("it is not established yet")
}

// await repeats the check until it is true, and gives up with the check's last
// error.
func await(ctx context.Context, check func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	ticker := time.NewTicker(servedInterval)
	defer ticker.Stop()
	for {
		done, err := check()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
