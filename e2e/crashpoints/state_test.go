package crashpoints_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// state has the objects of a workload by cluster, kind and name, without what differs
// between two runs.
type state map[string]any

// kinds returns the kinds that a state has, those of the hub's cluster and those of members.
func kinds(hub bool) []schema.GroupVersionKind {
	app := v1.GroupVersion.WithKind("EcommerceApp")
	if hub {
		return []schema.GroupVersionKind{app}
	}
	return []schema.GroupVersionKind{
		app,
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
		{Group: "batch", Version: "v1", Kind: "Job"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "PersistentVolumeClaim"},
		{Version: "v1", Kind: "Secret"},
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "ServiceAccount"},
	}
}

// read returns the objects of the run in all clusters, without those that Kubernetes puts into
// each namespace.
func (r *run) read(ctx context.Context) (state, error) {
	namespace := r.app.Namespace
	found := state{}
	var mu sync.Mutex
	var failed []error
	var group sync.WaitGroup
	list := func(cluster string, c client.Reader, kind schema.GroupVersionKind, o ...client.ListOption) {
		group.Go(func() {
			objects := &unstructured.UnstructuredList{}
			objects.SetGroupVersionKind(kind)
			err := c.List(ctx, objects, o...)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, fmt.Errorf("listing %s in %s: %w", kind.Kind, cluster, err))
			}
			for _, o := range objects.Items {
				if o.GetName() == "kube-root-ca.crt" || o.GetName() == "default" {
					continue
				}
				found[cluster+" "+kind.Kind+" "+o.GetName()] = masked(o.Object, namespace)
			}
		})
	}
	for _, kind := range kinds(true) {
		list(hubName, r.Hub, kind, client.InNamespace(namespace))
	}
	if r.fleetwide {
		list(hubName, r.Hub, v1.GroupVersion.WithKind("MemberCluster"))
	}
	for name, c := range r.Members {
		for _, kind := range kinds(false) {
			list(name, c, kind, client.InNamespace(namespace))
		}
	}
	group.Wait()
	return found, errors.Join(failed...)
}

// uuids, hashes and times match values that differ between two runs.
var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	hashes = regexp.MustCompile(`[0-9a-f]{64}`) // Namespaces and UIDs are hashed.
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
)

// masked returns a value without what differs between two runs.
func masked(value any, namespace string) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, each := range value {
			switch key {
			case "resourceVersion", "managedFields", "clusterIP", "clusterIPs":
			default:
				out[key] = masked(each, namespace)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(value))
		for _, each := range value {
			out = append(out, masked(each, namespace))
		}
		return out
	case string:
		value = times.ReplaceAllString(value, "TIME")
		value = uuids.ReplaceAllString(strings.ReplaceAll(value, namespace, "NAMESPACE"), "UID")
		return hashes.ReplaceAllString(value, "HASH")
	}
	return value
}

// names returns the objects of a state, sorted.
func (s state) names() []string { return slices.Sorted(maps.Keys(s)) }
