package hub_test

import (
	"context"
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testFreeCapacity divides the replicas of a shop by what two members have free, of which the pods of others
// take a part in one of them.
func (s *suite) testFreeCapacity(t *testing.T) {
	us1 := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "us-1"}}
	framework.Await(t, s.Hub, us1, "the requests of pods to be known", func(m *v1.MemberCluster) error { return errUnless(m.Status.Requested != nil, m) })

	// Each node has 4 cores. What was summed last may be of shops that are gone by now.
	load := s.occupy(t, "load", "3")
	framework.Await(t, s.Hub, us1, "the requests of more pods", func(m *v1.MemberCluster) error {
		cpu := m.Status.Requested[v1.ResourceCPU]
		return errUnless(cpu.MilliValue() >= 3000, m)
	})
	t.Run("a small change is not written", s.testSmallChange)

	app := small("by-capacity", "eu-1", "us-1")
	app.Spec.Replicas = new(int32(9))
	app.Spec.Placement.Replicas = v1.PlacementReplicas{Mode: v1.ReplicasDivided, By: v1.DivideByFreeCapacity}
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, us)
	first := s.awaitSum(t, app, 9)
	if first["us-1"] >= first["eu-1"] || first["us-1"] == 0 {
		t.Errorf("shares %v, want fewer in us-1", first)
	}

	raised := s.scaleDivided(t, app, first)

	// Capacity alone moves nothing, also when the hub decides again.
	if err := s.Members["us-1"].Delete(t.Context(), load); err != nil {
		t.Fatal(err)
	}
	framework.Await(t, s.Hub, us1, "the requests of fewer pods", func(m *v1.MemberCluster) error {
		cpu := m.Status.Requested[v1.ResourceCPU]
		return errUnless(cpu.MilliValue() < 3000, m)
	})
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v2" })
	s.AwaitRunning(t, app, eu, us)
	if kept := s.awaitSum(t, app, 16); kept["eu-1"] != raised["eu-1"] {
		t.Errorf("a change of capacity changed the shares from %v to %v", raised, kept)
	}
	s.Delete(t, app)
}

// scaleDivided raises the number of frontends by /scale, and then by a HorizontalPodAutoscaler on the hub, and
// returns the shares in 16. No cluster has fewer than before.
func (s *suite) scaleDivided(t *testing.T, app *v1.EcommerceApp, shares map[string]int32) map[string]int32 {
	t.Helper()
	raise := func(what string, want int32) {
		raised := s.awaitSum(t, app, want)
		if raised["eu-1"] < shares["eu-1"] || raised["us-1"] < shares["us-1"] {
			t.Errorf("%s changed the shares from %v to %v", what, shares, raised)
		}
		shares = raised
		scale := &autoscalingv1.Scale{}
		if err := s.Hub.SubResource("scale").Get(t.Context(), app, scale); err != nil {
			t.Fatal(err)
		}
		if scale.Spec.Replicas != want || scale.Status.Replicas != want {
			t.Errorf("after %s, scale has %d replicas of %d, want %d", what, scale.Status.Replicas, scale.Spec.Replicas, want)
		}
	}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 14}}
	if err := s.Hub.SubResource("scale").Update(t.Context(), app, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	raise("/scale", 14)
	// It raises what is below its minimum, without a metric.
	autoscaler := &autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name},
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp", Name: app.Name},
			MinReplicas:    new(int32(16)), MaxReplicas: 20,
		},
	}
	framework.Create(t, s.Hub, autoscaler)
	raise("an autoscaler", 16)
	if err := s.Hub.Delete(t.Context(), autoscaler); err != nil {
		t.Fatal(err)
	}
	return shares
}

// testSmallChange adds a pod that requests less than 5 % of a member.
func (s *suite) testSmallChange(t *testing.T) {
	// Of other members, the pods of shops that are gone by now may be summed later than those of us-1. They have no namespace.
	before := framework.MarkSettled(t, s.Fleet, "", config.HubServiceAccount)
	small := s.occupy(t, "small", "100m")
	framework.Await(t, s.Members["us-1"], small, "the pods of us-1 to be listed again", func(*corev1.Pod) error {
		lists := before.By(t, s.Fleet.Member("us-1"), config.HubServiceAccount).Of("pods").Verb("list").In("")
		if len(lists) < 2 {
			return fmt.Errorf("%w: %d lists", errElsewhere, len(lists))
		}
		return nil
	})
	writes := s.Since(t, before, s.Fleet.Hub()).Of("memberclusters").Writes()
	if len(writes) > 0 {
		t.Errorf("a small pod wrote to a MemberCluster:\n%s", writes)
	}
}

// occupy runs a pod in us-1 that requests cpus, until the test ends.
func (s *suite) occupy(t *testing.T, name, cpus string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	pod.Spec.Containers = []corev1.Container{{Name: name, Image: "load:v1", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)},
	}}}
	framework.Create(t, s.Members["us-1"], pod)
	t.Cleanup(func() {
		if err := s.Members["us-1"].Delete(context.WithoutCancel(t.Context()), pod); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	framework.Await(t, s.Members["us-1"], pod, "the pod to be on a node", func(p *corev1.Pod) error {
		if p.Spec.NodeName == "" {
			return fmt.Errorf("%w: %s", errElsewhere, p.Status.Phase)
		}
		return nil
	})
	return pod
}

// errUnless returns an error with what the pods of a member request, unless a condition holds.
func errUnless(holds bool, m *v1.MemberCluster) error {
	if holds {
		return nil
	}
	return fmt.Errorf("%w: %v are requested", errElsewhere, m.Status.Requested)
}

// awaitSum blocks until the clusters run as many frontends together as a status of /scale says, each as many
// as its share, and returns the shares.
func (s *suite) awaitSum(t *testing.T, app *v1.EcommerceApp, want int32) map[string]int32 {
	t.Helper()
	shares := map[string]int32{}
	s.AwaitApp(t, app, fmt.Sprintf("%s to run %d", app.Name, want), func(status *v1.EcommerceAppStatus) error {
		var sum int32
		for i := range status.Clusters {
			entry := &status.Clusters[i]
			if entry.Share == nil || entry.Share.Frontend == nil || entry.Replicas != *entry.Share.Frontend || entry.ReadyReplicas != entry.Replicas {
				return fmt.Errorf("%w: %d ready in %s, of the share %v", errElsewhere, entry.ReadyReplicas, entry.Name, entry.Share)
			}
			shares[entry.Name] = entry.Replicas
			sum += entry.Replicas
		}
		if sum != want || status.Replicas != want {
			return fmt.Errorf("%w: %d and %d replicas", errElsewhere, sum, status.Replicas)
		}
		return nil
	})
	return shares
}
