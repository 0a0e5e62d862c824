package config

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestResolvers checks that the pods reach resolvers at the ports that they have: those of OpenShift listen at 5353.
func TestResolvers(t *testing.T) {
	for _, set := range []Set{Hub, Spoke} {
		policy := &networkingv1.NetworkPolicy{}
		as(t, installed(t, set, Installation{})["NetworkPolicy/shopfleet-"+string(set)], policy)
		allowed := map[string]bool{}
		for _, rule := range policy.Spec.Egress {
			for _, port := range rule.Ports {
				allowed[string(*port.Protocol)+" "+port.Port.String()] = len(rule.To) == 0
			}
		}
		for _, want := range []string{"UDP 53", "TCP 53", "UDP 5353", "TCP 5353"} {
			if !allowed[want] {
				t.Errorf("%s: the policy does not allow %s anywhere: %v", set, want, allowed)
			}
		}
	}
}

// TestUsers checks that the manifests name no user, since OpenShift refuses pods that name one of their own: it is that of the
// image, a number by which a node sees that it is not root, or the one that the cluster assigns. Any user will do, because the
// pods have no volumes to write to.
func TestUsers(t *testing.T) {
	for _, set := range []Set{Hub, Spoke} {
		deployment := &appsv1.Deployment{}
		as(t, installed(t, set, Installation{})["Deployment/shopfleet-"+string(set)], deployment)
		pod := deployment.Spec.Template.Spec
		want := &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
		if diff := cmp.Diff(want, pod.SecurityContext); diff != "" {
			t.Errorf("%s: security context of the pods (-want +got):\n%s", set, diff)
		}
		container := pod.Containers[0]
		if c := container.SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil || !*c.ReadOnlyRootFilesystem || len(container.VolumeMounts) > 0 {
			t.Errorf("%s: the container has %+v and the volumes %v", set, c, container.VolumeMounts)
		}
	}
	dockerfile, err := os.ReadFile("../cmd/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^USER [1-9]\d*:[1-9]\d*$`).Match(dockerfile) {
		t.Error("the user of the images is no number other than root's")
	}
}
