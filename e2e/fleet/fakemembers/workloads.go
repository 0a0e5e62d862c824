package fakemembers

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// settle does at once what controllers and kubelets would do about a new spec: it writes the status
// of an object, and the claims and pods of a StatefulSet.
func (s *store) settle(c *collection, u *unstructured.Unstructured) error {
	var status any
	var err error
	switch c.Kind {
	case "CustomResourceDefinition":
		s.serve(definedBy(u))
		status, err = s.established(u)
	case "Namespace":
		status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	case "Node":
		status = corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("1000"),
			},
		}
	case "Deployment":
		status, err = s.deployed(u)
	case "StatefulSet":
		status, err = s.replicated(u)
	case "PersistentVolumeClaim":
		status, err = bound(u)
	case "Pod":
		status, err = s.running(u)
	case "Job":
		now := s.now()
		status = batchv1.JobStatus{
			Succeeded: 1, StartTime: &now, CompletionTime: &now,
			Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}},
		}
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("settling %s %q: %w", c.Kind, u.GetName(), err)
	}
	if u.Object["status"], err = convert(&status); err != nil {
		return err
	}
	_, err = s.put(c, u)
	return err
}

// convert returns a status in the form of unstructured objects.
func convert(status *any) (map[string]any, error) {
	raw, err := json.Marshal(*status)
	if err != nil {
		return nil, fmt.Errorf("encoding a status: %w", err)
	}
	u := &unstructured.Unstructured{}
	wrapped := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Status","status":%s}`, raw)
	if err := u.UnmarshalJSON(wrapped); err != nil {
		return nil, fmt.Errorf("decoding a status: %w", err)
	}
	converted, _, err := unstructured.NestedMap(u.Object, "status")
	return converted, err
}

// typed converts an object to its type.
func typed[T any](u *unstructured.Unstructured) (*T, error) {
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		return nil, fmt.Errorf("converting to %T: %w", into, err)
	}
	return into, nil
}

func (s *store) established(u *unstructured.Unstructured) (any, error) {
	crd, err := typed[apiextensionsv1.CustomResourceDefinition](u)
	if err != nil {
		return nil, err
	}
	status := apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: crd.Spec.Names, StoredVersions: []string{definedBy(u).Version}}
	for _, condition := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.NamesAccepted, apiextensionsv1.Established} {
		status.Conditions = append(status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: condition, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: s.now(),
		})
	}
	return status, nil
}

func replicasOf(wanted *int32) int32 {
	if wanted == nil {
		return 1
	}
	return *wanted
}

func (s *store) deployed(u *unstructured.Unstructured) (any, error) {
	d, err := typed[appsv1.Deployment](u)
	if err != nil {
		return nil, err
	}
	n := replicasOf(d.Spec.Replicas)
	condition := func(kind appsv1.DeploymentConditionType, reason string) appsv1.DeploymentCondition {
		return appsv1.DeploymentCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastUpdateTime: s.now(), LastTransitionTime: s.now()}
	}
	return appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{
			condition(appsv1.DeploymentAvailable, "MinimumReplicasAvailable"), condition(appsv1.DeploymentProgressing, "NewReplicaSetAvailable"),
		},
	}, nil
}

// replicated also creates the claims and pods of a StatefulSet. Pods are replaced, claims stay.
func (s *store) replicated(u *unstructured.Unstructured) (any, error) {
	set, err := typed[appsv1.StatefulSet](u)
	if err != nil {
		return nil, err
	}
	n, revision := replicasOf(set.Spec.Replicas), fmt.Sprintf("%s-%d", set.Name, set.Generation)
	for i := range n {
		pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: set.Spec.Template.Spec}
		pod.Name, pod.Namespace = fmt.Sprintf("%s-%d", set.Name, i), set.Namespace
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		for _, template := range set.Spec.VolumeClaimTemplates {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: template.Spec}
			claim.Name, claim.Namespace = template.Name+"-"+pod.Name, set.Namespace
			claim.Spec.VolumeName = "pv-" + string(uuid.NewUUID())
			if err := s.add(s.of("", "persistentvolumeclaims"), claim, false); err != nil {
				return nil, err
			}
		}
		if err := s.add(s.of("", "pods"), pod, true); err != nil {
			return nil, err
		}
	}
	pods := s.of("", "pods")
	for i := n; pods.objects[fmt.Sprintf("%s/%s-%d", set.Namespace, set.Name, i)] != nil; i++ {
		if err := s.remove(pods, pods.objects[fmt.Sprintf("%s/%s-%d", set.Namespace, set.Name, i)]); err != nil {
			return nil, err
		}
	}
	return appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n, CurrentReplicas: n,
		CurrentRevision: revision, UpdateRevision: revision,
	}, nil
}

// add creates an object of a controller. One that exists stays, or is replaced.
func (s *store) add(c *collection, object metav1.Object, replace bool) error {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("converting %q: %w", object.GetName(), err)
	}
	w := &write{store: s, collection: c, namespace: object.GetNamespace(), name: object.GetName(), manager: "kube-controller-manager"}
	if old := w.live(); old != nil {
		if !replace {
			return nil
		}
		if err := s.remove(c, old); err != nil {
			return err
		}
	}
	u := &unstructured.Unstructured{Object: raw}
	u.SetGroupVersionKind(c.GroupVersionKind)
	_, err = w.create(u)
	return err
}

func bound(u *unstructured.Unstructured) (any, error) {
	claim, err := typed[corev1.PersistentVolumeClaim](u)
	if err != nil {
		return nil, err
	}
	return corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, AccessModes: claim.Spec.AccessModes,
		Capacity: corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
	}, nil
}

func (s *store) running(u *unstructured.Unstructured) (any, error) {
	pod, err := typed[corev1.Pod](u)
	if err != nil {
		return nil, err
	}
	now := s.now()
	status := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", StartTime: &now}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for i := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: pod.Spec.Containers[i].Name, Image: pod.Spec.Containers[i].Image, Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status, nil
}
