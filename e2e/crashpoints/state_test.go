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

// state holds the objects of a workload by cluster, kind and name, without what differs
// between two runs.
type state map[string]any

// kinds returns the kinds of the objects of a run in the hub's cluster and in members.
func (r *run) kinds() (hub, member []schema.GroupVersionKind) {
	app := v1.GroupVersion.WithKind("EcommerceApp")
	hub = []schema.GroupVersionKind{app}
	member = []schema.GroupVersionKind{
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
	if r.database {
		hub = append(hub, v1.GroupVersion.WithKind("Backup"), v1.GroupVersion.WithKind("Restore"))
		member = append(member, schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"})
	}
	if r.rollout {
		hub = append(hub, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"})
	}
	return hub, member
}

// read returns the objects of the run in all clusters and in the cloud, without those that
// Kubernetes puts into each namespace.
func (r *run) read(ctx context.Context) (state, error) {
	reading := reader{namespace: r.app.Namespace, found: state{}}
	hub, member := r.kinds()
	for _, kind := range hub {
		reading.list(ctx, hubName, r.Hub, kind)
	}
	if r.fleetwide {
		reading.list(ctx, hubName, r.Hub, v1.GroupVersion.WithKind("MemberCluster"))
	}
	for name, c := range r.Members {
		for _, kind := range member {
			reading.list(ctx, name, c, kind)
		}
	}
	if r.database {
		reading.list(ctx, euMember, r.Members[euMember], schema.GroupVersionKind{Group: snapshotGroup, Version: "v1", Kind: "VolumeSnapshot"})
		for kind := range owners() {
			reading.list(ctx, euMember, r.Members[euMember], kind)
		}
	}
	reading.group.Wait()
	if r.database {
		for _, m := range r.aws.of(r.app.Namespace) {
			reading.found[m.String()] = masked(m.content, r.app.Namespace)
		}
	}
	return reading.found, errors.Join(reading.failed...)
}

// reader lists the objects of a namespace concurrently.
type reader struct {
	namespace string
	group     sync.WaitGroup

	mu     sync.Mutex
	found  state
	failed []error
}

// list adds the objects of a kind in a cluster.
func (r *reader) list(ctx context.Context, cluster string, c client.Reader, kind schema.GroupVersionKind) {
	var options []client.ListOption
	if owners()[kind] == nil && kind.Kind != "MemberCluster" {
		options = append(options, client.InNamespace(r.namespace))
	}
	r.group.Go(func() {
		objects := &unstructured.UnstructuredList{}
		objects.SetGroupVersionKind(kind)
		err := c.List(ctx, objects, options...)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil {
			r.failed = append(r.failed, fmt.Errorf("listing %s in %s: %w", kind.Kind, cluster, err))
		}
		for _, o := range objects.Items {
			if !r.wanted(&o) {
				continue
			}
			name := cluster + " " + kind.Kind + " " + maskedText(o.GetName(), r.namespace)
			// Of a volume and the one that replaces it, the masked names are the same, and the phases are not.
			if phase, has, _ := unstructured.NestedString(o.Object, "status", "phase"); has && owners()[kind] != nil {
				name += " " + phase
			}
			for r.found[name] != nil {
				name += ", another"
			}
			r.found[name] = masked(o.Object, r.namespace)
		}
	})
}

// wanted reports whether an object is one of the application.
func (r *reader) wanted(o *unstructured.Unstructured) bool {
	if field := owners()[o.GroupVersionKind()]; field != nil {
		of, _, err := unstructured.NestedString(o.Object, field...)
		return err == nil && of == r.namespace
	}
	return o.GetName() != "kube-root-ca.crt" && o.GetName() != "default"
}

// uuids, imports, hashes, handles and times match values that differ between two runs.
var (
	imports = regexp.MustCompile(`-import-[0-9a-f]{8}\b`) // The UID of the Restore is hashed.
	uuids   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	hashes  = regexp.MustCompile(`[0-9a-f]{64}|\beb-[a-z2-7]{26}\b`) // Namespaces and UIDs are hashed.
	handles = regexp.MustCompile(`\b(snap|vol)-[0-9a-z]+\b`)
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
)

// conditionType returns the type of a condition: their order is that in which they were first reported. It is
// empty for all else.
func conditionType(value any) string {
	fields, _ := value.(map[string]any)
	if fields["lastTransitionTime"] == nil {
		return ""
	}
	name, _ := fields["type"].(string)
	return name
}

// masked returns a value without what differs between two runs.
func masked(value any, namespace string) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, each := range value {
			if !differs(key, each) {
				out[key] = masked(each, namespace)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(value))
		for _, each := range value {
			out = append(out, masked(each, namespace))
		}
		slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(conditionType(a), conditionType(b)) })
		return out
	case string:
		return maskedText(value, namespace)
	}
	return value
}

// differs reports whether a field differs between two runs.
func differs(key string, value any) bool {
	switch key {
	case "resourceVersion", "managedFields", "clusterIP", "clusterIPs", "currentRevision", "updateRevision":
		return true
	case "requests": // Of a snapshot, one more after a crash; those of containers are no number.
		_, isNumber := value.(int64)
		return isNumber
	case "requested": // What pods in a member request, as it was summed last.
		return true
	case "rejected": // Other clusters by reason, which are written with the next change of the application.
		return true
	case v1.DatabaseCreatedAnnotation: // Of a copy whose status says the same: written with its next change.
		return true
	case "password", "url", "salt", "root-password", "replication-password": // They are generated.
		return true
	}
	return false
}

func maskedText(value, namespace string) string {
	value = times.ReplaceAllString(value, "TIME")
	value = maskedName(strings.ReplaceAll(value, namespace, "NAMESPACE"))
	return handles.ReplaceAllString(hashes.ReplaceAllString(value, "HASH"), "HANDLE")
}

// maskedName returns the name of an object without what differs between two runs.
func maskedName(name string) string {
	return imports.ReplaceAllString(uuids.ReplaceAllString(name, "UID"), "-import-UID")
}

// names returns the objects of a state, sorted.
func (s state) names() []string { return slices.Sorted(maps.Keys(s)) }
