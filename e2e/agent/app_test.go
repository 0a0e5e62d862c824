package agent_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func (s *suite) copyIn(t *testing.T, name string) *v1.EcommerceApp {
	t.Helper()
	copied := &v1.EcommerceApp{}
	if err := s.Members[name].Get(t.Context(), client.ObjectKeyFromObject(s.shop), copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

// pods names the shop's pods with their UIDs.
func (s *suite) pods(t *testing.T, name string) string {
	t.Helper()
	list := &corev1.PodList{}
	if err := s.Members[name].List(t.Context(), list, client.InNamespace(s.shop.Namespace)); err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.Kind != "Job" {
			all = append(all, list.Items[i].Name+" "+string(list.Items[i].UID))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// workloads names the shop's Deployments and StatefulSets with their generations.
func (s *suite) workloads(t *testing.T, name string) string {
	t.Helper()
	var all []string
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}} {
		if err := s.Members[name].List(t.Context(), list, client.InNamespace(s.shop.Namespace)); err != nil {
			t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err == nil {
				all = append(all, fmt.Sprintf("%s %d", object.GetName(), object.GetGeneration()))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(all, ", ")
}

// children returns the objects that Shopfleet wrote for the shop in a member, by kind and
// name, without the fields that are specific to the cluster or set by its API server.
func (s *suite) children(t *testing.T, name string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &autoscalingv2.HorizontalPodAutoscalerList{}, &batchv1.CronJobList{},
		&corev1.ConfigMapList{}, &corev1.PersistentVolumeClaimList{}, &corev1.SecretList{}, &corev1.ServiceList{},
		&corev1.ServiceAccountList{}, &networkingv1.IngressList{}, &networkingv1.NetworkPolicyList{}, &policyv1.PodDisruptionBudgetList{},
	} {
		if err := s.Members[name].List(t.Context(), list, client.InNamespace(s.shop.Namespace),
			client.MatchingLabels{v1.ManagedByLabel: v1.ManagedBy}); err != nil {
			t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			kind, err := apiutil.GVKForObject(item, s.Members[name].Scheme())
			if err != nil {
				return err
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item)
			if err != nil {
				return err
			}
			object := &unstructured.Unstructured{Object: content}
			object.SetGroupVersionKind(kind)
			text, err := essence(object)
			found[kind.Kind+"/"+object.GetName()] = text
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// essence returns an object without its status and the fields that differ from cluster to cluster.
func essence(o *unstructured.Unstructured) (string, error) {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	delete(labels, v1.ClusterLabel)
	delete(labels, v1.OwnerUIDLabel)
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return key == v1.SpecHashAnnotation || strings.Contains(key, "kubernetes.io/")
	})
	var owners []string
	for _, owner := range o.GetOwnerReferences() {
		owners = append(owners, owner.Kind+"/"+owner.Name)
	}
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	assigned := []string{"clusterIP", "clusterIPs", "volumeName"}
	if o.GetKind() == "PersistentVolumeClaim" {
		assigned = append(assigned, "storageClassName") // That of the cloud is the default.
	}
	for _, field := range assigned {
		delete(spec, field)
	}
	data := o.Object["data"]
	if values, ok := data.(map[string]any); ok {
		for _, variable := range []string{"CLUSTER", "REGION", "PROVIDER"} {
			delete(values, variable)
		}
		if o.GetKind() == "Secret" {
			data = slices.Sorted(maps.Keys(values)) // What is drawn differs.
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"labels": labels, "annotations": annotations, "owners": owners, "spec": spec, "data": data,
	}, "", " ")
	return string(text), err
}

func compareObjects(t *testing.T, without, with map[string]string) {
	t.Helper()
	if len(without) < 10 {
		t.Errorf("the shop is made of %d objects", len(without))
	}
	if diff := cmp.Diff(without, with); diff != "" {
		t.Errorf("without an agent and with one (-without +with):\n%s", diff)
	}
}
