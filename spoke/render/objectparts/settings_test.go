package objectparts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestConfigureKeepsAffinity checks that the user's affinity is added to that of the pod: a node
// must meet both, and the constraints that spread pods stay.
func TestConfigureKeepsAffinity(t *testing.T) {
	region := `{matchExpressions: [{key: region, operator: In, values: [eu]}]}`
	ssd, gpu := `{matchExpressions: [{key: ssd, operator: Exists}]}`, `{matchFields: [{key: metadata.name, operator: In, values: [gpu]}]}`
	required := func(terms ...string) string {
		return `requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [` + strings.Join(terms, ", ") + `]}`
	}
	preferred := func(weight, term string) string {
		return `preferredDuringSchedulingIgnoredDuringExecution: [{weight: ` + weight + `, preference: ` + term + `}]`
	}
	both := `{matchExpressions: [{key: region, operator: In, values: [eu]}, {key: ssd, operator: Exists}]}`
	withGPU := `{matchExpressions: [{key: region, operator: In, values: [eu]}], matchFields: [{key: metadata.name, operator: In, values: [gpu]}]}`
	spread := `podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, ` +
		`labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}, namespaces: [x]}}]}`
	tests := map[string]struct{ own, users, want string }{
		"neither":                  {``, ``, ``},
		"the user's":               {``, `nodeAffinity: {` + required(ssd) + `}, ` + spread, `nodeAffinity: {` + required(ssd) + `}, ` + spread},
		"our own":                  {`nodeAffinity: {` + required(region) + `}`, ``, `nodeAffinity: {` + required(region) + `}`},
		"an empty one":             {`nodeAffinity: {` + required(region) + `}`, `nodeAffinity: {}`, `nodeAffinity: {` + required(region) + `}`},
		"each term of the user's":  {`nodeAffinity: {` + required(region) + `}`, `nodeAffinity: {` + required(ssd, gpu) + `}`, `nodeAffinity: {` + required(both, withGPU) + `}`},
		"a term without a node":    {`nodeAffinity: {` + required(region) + `}`, `nodeAffinity: {` + required(`{}`) + `}`, `nodeAffinity: {` + required(`{}`) + `}`},
		"required, and preferred":  {`nodeAffinity: {` + required(region) + `}`, `nodeAffinity: {` + preferred("5", ssd) + `}`, `nodeAffinity: {` + required(region) + `, ` + preferred("5", ssd) + `}`},
		"preferred, and pods":      {`nodeAffinity: {` + preferred("9", gpu) + `}`, spread, `nodeAffinity: {` + preferred("9", gpu) + `}, ` + spread},
		"affinity to certain pods": {``, strings.Replace(spread, "podAntiAffinity", "podAffinity", 1), strings.Replace(spread, "podAntiAffinity", "podAffinity", 1)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod, settings, want := corev1.PodSpec{}, v1.PodSettings{}, corev1.PodSpec{}
			if tt.own != "" {
				decode(t, tt.own, &pod.Affinity)
			}
			if tt.users != "" {
				decode(t, tt.users, &settings.Affinity)
			}
			if tt.want != "" {
				decode(t, tt.want, &want.Affinity)
			}
			pod.TopologySpreadConstraints = Part{}.Spread()
			want.TopologySpreadConstraints = Part{}.Spread()
			Configure(&pod, settings)
			if diff := cmp.Diff(want, pod); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte("{"+text+"}"), into); err != nil {
		t.Fatal(err)
	}
}

// TestBothNodesOfTerms checks that a term that matches no node leaves the others.
func TestBothNodesOfTerms(t *testing.T) {
	t.Parallel()
	selecting := func(terms ...corev1.NodeSelectorTerm) *corev1.NodeAffinity {
		return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
	by := func(key string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key}}}
	}
	got := bothNodes(selecting(by("a")), selecting(corev1.NodeSelectorTerm{}, by("b"))).RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(got) != 1 || len(got[0].MatchExpressions) != 2 {
		t.Errorf("terms %+v", got)
	}
}
