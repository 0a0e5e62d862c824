package fakemembers

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// servedKind describes a kind that a member serves, in one version.
type servedKind struct {
	schema.GroupVersionKind
	plural     string
	namespaced bool
	// status is true if the kind has the subresource status, so that other writes do not change
	// the status, and the generation counts changes of the spec.
	status bool
}

func (s *servedKind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: s.Group, Resource: s.plural}
}

// builtin returns the resources that a member serves without CustomResourceDefinitions.
func builtin() []servedKind {
	const table = `
		v1 Namespace namespaces status
		v1 Node nodes status
		v1 PersistentVolume persistentvolumes status
		v1 ConfigMap configmaps namespaced
		v1 Event events namespaced
		v1 PersistentVolumeClaim persistentvolumeclaims namespaced status
		v1 Pod pods namespaced status
		v1 Secret secrets namespaced
		v1 Service services namespaced
		v1 ServiceAccount serviceaccounts namespaced
		apps/v1 Deployment deployments namespaced status
		apps/v1 StatefulSet statefulsets namespaced status
		autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers namespaced status
		batch/v1 CronJob cronjobs namespaced status
		batch/v1 Job jobs namespaced status
		coordination.k8s.io/v1 Lease leases namespaced
		events.k8s.io/v1 Event events namespaced
		networking.k8s.io/v1 Ingress ingresses namespaced status
		networking.k8s.io/v1 IngressClass ingressclasses
		networking.k8s.io/v1 NetworkPolicy networkpolicies namespaced
		policy/v1 PodDisruptionBudget poddisruptionbudgets namespaced status
		storage.k8s.io/v1 CSIDriver csidrivers
		storage.k8s.io/v1 StorageClass storageclasses
		apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions status`
	var all []servedKind
	for line := range strings.Lines(strings.TrimSpace(table)) {
		fields := strings.Fields(line)
		version, err := schema.ParseGroupVersion(fields[0])
		if err != nil {
			panic(err) // The table is constant.
		}
		all = append(all, servedKind{
			GroupVersionKind: version.WithKind(fields[1]), plural: fields[2],
			namespaced: slices.Contains(fields, "namespaced"), status: slices.Contains(fields, "status"),
		})
	}
	return all
}

// definedBy returns the resource that a CustomResourceDefinition defines, in its storage version.
func definedBy(definition *unstructured.Unstructured) servedKind {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(definition.Object, append([]string{"spec"}, fields...)...)
		return value
	}
	defined := servedKind{plural: text("names", "plural"), namespaced: text("scope") == "Namespaced"}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, each := range versions {
		if version, ok := each.(map[string]any); ok && version["storage"] == true {
			name, _ := version["name"].(string)
			defined.GroupVersionKind = schema.GroupVersionKind{Group: text("group"), Version: name, Kind: text("names", "kind")}
			_, defined.status, _ = unstructured.NestedMap(version, "subresources", "status")
		}
	}
	return defined
}
