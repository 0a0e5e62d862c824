package capacity

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func node(providerID, region, zone string, ready bool) corev1.Node {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	labels := map[string]string{"other": "x"}
	if region != "" {
		labels[corev1.LabelTopologyRegion] = region
	}
	if zone != "" {
		labels[corev1.LabelTopologyZone] = zone
	}
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: zone, UID: "u", ResourceVersion: "7", Labels: labels,
			Annotations: map[string]string{"big": "x"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.NodeSpec{ProviderID: providerID, PodCIDR: "10.0.0.0/24"},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("2Gi"),
				corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"),
			},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.Unix(5, 0)},
			},
			Images: []corev1.ContainerImage{{Names: []string{"a"}}},
		},
	}
}

// tainted returns a node that the cloud controller manager has not initialized.
func tainted(providerID string) corev1.Node {
	n := node(providerID, "", "", false)
	n.Spec.Taints = []corev1.Taint{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
	}
	return n
}

func TestNodes(t *testing.T) {
	two := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("3"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("220"),
	}
	many := make([]corev1.Node, 0, 60)
	for n := range 60 {
		many = append(many, node("", "", fmt.Sprintf("z%02d", n), false))
	}
	tests := map[string]struct {
		nodes []corev1.Node
		want  NodeFacts
	}{
		"none": {nil, NodeFacts{}},
		"aws": {
			[]corev1.Node{
				node("aws:///eu-west-1b/i-2", "eu-west-1", "eu-west-1b", true),
				node("aws:///eu-west-1a/i-1", "eu-west-1", "eu-west-1a", true),
				node("aws:///eu-west-1a/i-3", "eu-west-1", "eu-west-1a", false),
			},
			NodeFacts{
				Provider: v1.ProviderAWS, Region: "eu-west-1", Zones: []string{"eu-west-1a", "eu-west-1b"},
				Nodes: 3, ReadyNodes: 2, Allocatable: two,
			},
		},
		"gcp":    {[]corev1.Node{node("gce://p/z/i", "", "", false)}, NodeFacts{Provider: v1.ProviderGCP, Nodes: 1}},
		"azure":  {[]corev1.Node{node("azure:///subscriptions/s", "", "", false)}, NodeFacts{Provider: v1.ProviderAzure, Nodes: 1}},
		"kind":   {[]corev1.Node{node("kind://docker/a", "", "", false)}, NodeFacts{Provider: v1.ProviderOther, Nodes: 1}},
		"no IDs": {[]corev1.Node{node("", "", "", false)}, NodeFacts{Provider: v1.ProviderOther, Nodes: 1}},
		"most have no ID yet": {
			[]corev1.Node{node("", "", "", false), node("aws://a", "a", "", false), node("", "", "", false)},
			NodeFacts{Provider: v1.ProviderAWS, Region: "a", Nodes: 3},
		},
		"none has an ID yet":                {[]corev1.Node{node("", "", "", false), tainted("")}, NodeFacts{Nodes: 2}},
		"an ID before the taint is removed": {[]corev1.Node{tainted("gce://b")}, NodeFacts{Provider: v1.ProviderGCP, Nodes: 1}},
		"most win": {
			[]corev1.Node{node("aws://a", "a", "", false), node("gce://b", "b", "", false), node("gce://b", "b", "", false)},
			NodeFacts{Provider: v1.ProviderGCP, Region: "b", Nodes: 3},
		},
		"a tie goes by name": {
			[]corev1.Node{node("gce://b", "b", "", false), node("aws://a", "a", "", false)},
			NodeFacts{Provider: v1.ProviderAWS, Region: "a", Nodes: 2},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Nodes(test.nodes), cmp.Transformer("empty", emptyAsNil)); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
	if got := Nodes(many).Zones; len(got) != maxZones || got[0] != "z00" {
		t.Errorf("%d zones, first %q", len(got), got[0])
	}
}

func emptyAsNil(s []string) string { return fmt.Sprint(s) }

func TestSlim(t *testing.T) {
	full := node("aws:///a/i", "eu", "eu-a", true)
	full.Spec.Taints = tainted("").Spec.Taints
	got, err := Slim(&full)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "eu-a", UID: "u", ResourceVersion: "7", Labels: full.Labels},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///a/i", Taints: full.Spec.Taints[1:]},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("2Gi"), corev1.ResourcePods: resource.MustParse("110"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	slim, ok := got.(*corev1.Node)
	if !ok {
		t.Fatal("not a node")
	}
	if diff := cmp.Diff(Nodes([]corev1.Node{full}), Nodes([]corev1.Node{*slim})); diff != "" {
		t.Errorf("a slim node says something else (-full +slim):\n%s", diff)
	}
	other := &corev1.Secret{}
	if passed, err := Slim(other); err != nil || passed != any(other) {
		t.Errorf("something else became %v, error %v", passed, err)
	}
}
