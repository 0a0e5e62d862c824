package component_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

const owner = types.UID("owner")

func metadata(name, part string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "shop", Name: name, Generation: 1,
		Labels:          map[string]string{v1.ComponentLabel: part},
		Annotations:     map[string]string{v1.SpecHashAnnotation: "current"},
		OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}},
	}
}

// deployment returns a Deployment with some of its pods ready.
func deployment(name string, wanted, ready int32, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metadata("app-"+name, name),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(wanted),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"pods": name}},
			Template: template("image:1"),
		},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: wanted, UpdatedReplicas: wanted, ReadyReplicas: ready, AvailableReplicas: ready,
		},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

// statefulSet returns a StatefulSet with a claim for each pod and some of its pods ready.
func statefulSet(name string, wanted, ready int32, change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metadata("app-"+name, name),
		Spec: appsv1.StatefulSetSpec{
			Replicas:    new(wanted),
			ServiceName: "app-" + name,
			Selector:    &metav1.LabelSelector{MatchLabels: map[string]string{"pods": name}},
			Template:    template("image:1"),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec:       claimSpec("10Gi"),
			}},
		},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: 1, Replicas: wanted, ReadyReplicas: ready,
			CurrentRevision: "r1", UpdateRevision: "r1",
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}}
}

func claimSpec(size string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
	}}
}

func claim(name, size string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       claimSpec(size),
		Status:     corev1.PersistentVolumeClaimStatus{Phase: phase},
	}
}

func service(name string) *corev1.Service {
	return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metadata("app-"+name, name)}
}

func configMap(name, part string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metadata(name, part)}
}

func live(objects ...component.Resource) component.Live {
	found := make(component.Live)
	for _, object := range objects {
		found[component.KeyOf(object)] = object
	}
	return found
}

func part(name string, dependsOn []string, objects ...component.Resource) component.Component {
	c := component.Component{Name: name, DependsOn: dependsOn}
	for _, object := range objects {
		c.Objects = append(c.Objects, component.Object{Resource: object})
	}
	return c
}

// shop returns the components of a shop as they are wanted.
func shop() []component.Component {
	return []component.Component{
		part("database", nil, service("database"), statefulSet("database", 1, 0)),
		part("backend", []string{"database"}, deployment("backend", 2, 0), service("backend")),
		part("frontend", []string{"backend"}, deployment("frontend", 3, 0), service("frontend")),
		part("ingress", []string{"frontend"}, configMap("app-ingress", "ingress")),
		part("monitoring", []string{"backend", "frontend"}, configMap("app-dashboard", "monitoring")),
	}
}

// running returns the live objects of a shop that is as wanted.
func running() component.Live {
	return live(
		service("database"), statefulSet("database", 1, 1), claim("data-app-database-0", "10Gi", corev1.ClaimBound),
		deployment("backend", 2, 2), service("backend"),
		deployment("frontend", 3, 3), service("frontend"),
		configMap("app-ingress", "ingress"), configMap("app-dashboard", "monitoring"),
	)
}

// initialized returns the conditions of a shop that was ready with a generation.
func initialized(generation int64) []metav1.Condition {
	return []metav1.Condition{{Type: v1.ConditionInitialized, Status: metav1.ConditionTrue, ObservedGeneration: generation}}
}

func without(l component.Live, objects ...component.Resource) component.Live {
	for _, object := range objects {
		delete(l, component.KeyOf(object))
	}
	return l
}

func with(l component.Live, objects ...component.Resource) component.Live {
	for _, object := range objects {
		l[component.KeyOf(object)] = object
	}
	return l
}
