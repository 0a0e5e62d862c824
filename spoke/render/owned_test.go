package render_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// TestOwnedDefaults checks that fields whose other values stop or redirect a shop are set although the values
// are the defaults: what an intent leaves out belongs to the client that sets it. Package apply adds those that are
// omitted where they are zero.
func TestOwnedDefaults(t *testing.T) {
	app := apitest.Seed()
	app.Spec.Backend.Replicas, app.Spec.Backend.Autoscaling = nil, &v1.Autoscaling{MinReplicas: 2, MaxReplicas: 4}
	components, err := render.EcommerceApp(app, render.Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, c := range components {
		for _, object := range c.Objects {
			if missing := unsetDefaults(object.Resource); len(missing) > 0 {
				t.Errorf("%T %s leaves %v to others", object.Resource, object.Resource.GetName(), missing)
			}
			kinds[object.Resource.GetObjectKind().GroupVersionKind().Kind]++
		}
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "CronJob", "Service", "HorizontalPodAutoscaler", "NetworkPolicy"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s is rendered", kind)
		}
	}
}

// unsetDefaults returns the fields of an object that stop or redirect a shop, and that are not set.
func unsetDefaults(object any) []string {
	var missing []string
	want := func(field string, set bool) {
		if !set {
			missing = append(missing, field)
		}
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		want("selector", o.Spec.Selector != nil)
		want("strategy", o.Spec.Strategy.Type != "" && o.Spec.Strategy.RollingUpdate != nil)
		want("progressDeadlineSeconds", o.Spec.ProgressDeadlineSeconds != nil)
	case *appsv1.StatefulSet:
		want("updateStrategy", o.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && o.Spec.UpdateStrategy.RollingUpdate != nil &&
			o.Spec.UpdateStrategy.RollingUpdate.Partition != nil)
		want("ordinals", o.Spec.Ordinals != nil)
		want("persistentVolumeClaimRetentionPolicy", o.Spec.PersistentVolumeClaimRetentionPolicy != nil)
		want("podManagementPolicy", o.Spec.PodManagementPolicy != "")
	case *batchv1.CronJob:
		want("suspend", o.Spec.Suspend != nil)
		want("timeZone", o.Spec.TimeZone != nil)
		want("concurrencyPolicy", o.Spec.ConcurrencyPolicy != "")
		want("startingDeadlineSeconds", o.Spec.StartingDeadlineSeconds != nil)
		job := o.Spec.JobTemplate.Spec
		want("jobTemplate.spec.suspend", job.Suspend != nil)
		want("jobTemplate.spec.parallelism", job.Parallelism != nil && job.Completions != nil)
		want("jobTemplate.spec.podFailurePolicy", job.PodFailurePolicy != nil && job.PodReplacementPolicy != nil)
		want("jobTemplate.spec.activeDeadlineSeconds", job.ActiveDeadlineSeconds != nil && job.BackoffLimit != nil)
	case *corev1.Service:
		want("type", o.Spec.Type == corev1.ServiceTypeClusterIP)
		want("internalTrafficPolicy", o.Spec.InternalTrafficPolicy != nil)
		want("selector", len(o.Spec.Selector) > 0 && len(o.Spec.Ports) > 0)
	case *autoscalingv2.HorizontalPodAutoscaler:
		b := o.Spec.Behavior
		want("behavior", b != nil && b.ScaleUp != nil && b.ScaleUp.SelectPolicy != nil && b.ScaleDown != nil && b.ScaleDown.SelectPolicy != nil)
		want("minReplicas", o.Spec.MinReplicas != nil && o.Spec.MaxReplicas > 0)
	case *networkingv1.NetworkPolicy:
		want("policyTypes", len(o.Spec.PolicyTypes) > 0)
	}
	return missing
}
