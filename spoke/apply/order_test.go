package apply

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestOrderOf checks that the order of containers and variables is seen, that an object has the same with and
// without a Go type, and that nothing else of it counts.
func TestOrderOf(t *testing.T) {
	t.Parallel()
	pod := func(change func(*corev1.PodSpec)) corev1.PodTemplateSpec {
		spec := corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "a"}, {Name: "b"}},
			Containers:     []corev1.Container{{Name: "c", Image: "c:1", Env: []corev1.EnvVar{{Name: "A"}, {Name: "B"}}}, {Name: "d"}},
		}
		change(&spec)
		return corev1.PodTemplateSpec{Spec: spec}
	}
	kinds := map[string]func(corev1.PodTemplateSpec) component.Resource{
		"Deployment": func(p corev1.PodTemplateSpec) component.Resource {
			return &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, Spec: appsv1.DeploymentSpec{Template: p}}
		},
		"StatefulSet": func(p corev1.PodTemplateSpec) component.Resource {
			return &appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, Spec: appsv1.StatefulSetSpec{Template: p}}
		},
	}
	changes := map[string]struct {
		change func(*corev1.PodSpec)
		same   bool
	}{
		"none":            {func(*corev1.PodSpec) {}, true},
		"image":           {func(p *corev1.PodSpec) { p.Containers[0].Image = "c:2" }, true},
		"value":           {func(p *corev1.PodSpec) { p.Containers[0].Env[0].Value = "1" }, true},
		"variables":       {func(p *corev1.PodSpec) { p.Containers[0].Env = []corev1.EnvVar{{Name: "B"}, {Name: "A"}} }, false},
		"containers":      {func(p *corev1.PodSpec) { p.Containers[0], p.Containers[1] = p.Containers[1], p.Containers[0] }, false},
		"init containers": {func(p *corev1.PodSpec) { p.InitContainers = []corev1.Container{{Name: "b"}, {Name: "a"}} }, false},
		"moved variable":  {func(p *corev1.PodSpec) { p.Containers[1].Env, p.Containers[0].Env = p.Containers[0].Env, nil }, false},
	}
	for kind, of := range kinds {
		for name, tt := range changes {
			was, is := of(pod(func(*corev1.PodSpec) {})), of(pod(tt.change))
			if same := orderOf(was) == orderOf(is); same != tt.same {
				t.Errorf("%s, %s: the order is the same: %t", kind, name, same)
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(is)
			if err != nil {
				t.Fatal(err)
			}
			if orderOf(is) != orderOf(&unstructured.Unstructured{Object: content}) {
				t.Errorf("%s, %s: another order without a Go type", kind, name)
			}
		}
	}
	cronJob := &batchv1.CronJob{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}, ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	edited := &metav1.PartialObjectMetadata{TypeMeta: cronJob.TypeMeta, ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	if orderOf(cronJob) == orderOf(edited) || orderOf(cronJob) == 0 {
		t.Error("the edit of a CronJob is not seen")
	}
}
