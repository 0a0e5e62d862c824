package api_test

import (
	"strings"
	"testing"
)

// testSpread sends the rules of spread, preferences and tolerations.
func (s *server) testSpread(t *testing.T) {
	type m = map[string]any
	const at = "spec.placement"
	spread := func(fields m) edits { return edits{at + ".spread[]": fields} }
	gold := m{"clusterSelector": m{"matchLabels": m{"tier": "gold"}}}
	prefer := func(weight int64) edits { return edits{at + ".preferences[]": m{"weight": weight, "selector": gold}} }
	var many, preferences []any
	for _, topology := range []string{"region", "zone", "provider"} {
		many = append(many, m{"topology": topology, "minDomains": int64(2), "maxDomains": int64(2), "maxClustersPerDomain": int64(500), "maxSkew": int64(500)})
	}
	for range 21 {
		preferences = append(preferences, m{"weight": int64(1), "selector": gold})
	}
	cases := []testCase{
		{name: "spread over all topologies", edits: edits{at + ".spread": many}},
		{
			name: "a topology twice", edits: edits{at + ".spread": append(many[:2:2], many[0])},
			field: at + ".spread[2]", says: "Duplicate value",
		},
		{name: "another topology", edits: spread(m{"topology": "rack", "maxSkew": int64(1)}), field: at + ".spread[0].topology", says: "Unsupported value"},
		{name: "a topology without a limit", edits: spread(m{"topology": "zone"}), field: at + ".spread[0]", says: "spread must have one of minDomains"},
		{
			name: "more at least than at most", edits: spread(m{"topology": "zone", "minDomains": int64(3), "maxDomains": int64(2)}),
			field: at + ".spread[0].minDomains", says: "minDomains must not exceed maxDomains",
		},
		{name: "a preference", edits: prefer(100)},
		{name: "replicas divided by weight", edits: edits{at + ".replicas": m{"mode": "Divided", "weights": []any{m{"weight": int64(3), "selector": gold}}}}},
		{name: "replicas divided by free capacity", edits: edits{at + ".replicas": m{"mode": "Divided", "by": "FreeCapacity"}}},
		{name: "replicas divided by weights that are missing", edits: edits{at + ".replicas": m{"mode": "Divided", "by": "Weights"}}},
		{
			name: "weights and free capacity", edits: edits{at + ".replicas": m{"by": "FreeCapacity", "weights": preferences[:1]}},
			field: at + ".replicas.weights", says: "weights must be absent when by is FreeCapacity",
		},
		{name: "too many weights", edits: edits{at + ".replicas": m{"weights": preferences}}, field: at + ".replicas.weights", says: "Too many: 21"},
		{name: "most preferences", edits: edits{at + ".preferences": preferences[:20]}},
		{name: "too many preferences", edits: edits{at + ".preferences": preferences}, field: at + ".preferences", says: "Too many: 21"},
		{name: "no weight", edits: prefer(0), field: at + ".preferences[0].weight", says: "should be greater than or equal to 1"},
		{name: "a high weight", edits: prefer(101), field: at + ".preferences[0].weight", says: "should be less than or equal to 100"},
		{
			name: "a preference without a selector", edits: edits{at + ".preferences[]": m{"weight": int64(1)}},
			field: at + ".preferences[0].selector", says: "Required value",
		},
		{
			name: "a weight without a selector", edits: edits{at + ".replicas": m{"weights": []any{m{"weight": int64(1)}}}},
			field: at + ".replicas.weights[0].selector", says: "Required value",
		},
	}
	for field, highest := range map[string]int64{"minDomains": 100, "maxDomains": 100, "maxClustersPerDomain": 500, "maxSkew": 500} {
		for _, n := range []int64{0, highest + 1} {
			cases = append(cases, testCase{
				name: field + " out of bounds", edits: spread(m{"topology": "zone", field: n}), field: at + ".spread[0]." + field,
				says: "should be " + map[bool]string{true: "less", false: "greater"}[n > 0] + " than or equal to",
			})
		}
	}
	s.check(t, ecommerceApps(), append(cases, placementTolerations()...))
}

// placementTolerations returns the cases of tolerations, whose rules are those of pods but for an effect that
// MemberClusters do not have.
func placementTolerations() []testCase {
	cases := tolerationCases("placement")
	for i := range cases {
		c := &cases[i]
		if c.name == "placement tolerates value" {
			c.field, c.says = "spec.placement.tolerations", "tolerations must have the effects NoSchedule or NoExecute"
		}
	}
	return cases
}

// taintCases tests the taints of members.
func taintCases() []testCase {
	type m = map[string]any
	taint := func(fields m) edits { return edits{"spec.taints[]": fields} }
	var most []any
	for i := range 51 {
		most = append(most, m{"key": numbered("key", i+1), "effect": "NoSchedule"})
	}
	return []testCase{
		{name: "a taint of each effect", edits: edits{"spec.taints": []any{m{"key": "k", "effect": "NoSchedule"}, m{"key": "k", "value": "v", "effect": "NoExecute"}}}},
		{name: "a taint twice", edits: edits{"spec.taints": []any{m{"key": "k", "effect": "NoSchedule"}, m{"key": "k", "value": "v", "effect": "NoSchedule"}}}, field: "spec.taints[1]", says: "Duplicate value"},
		{name: "most taints", edits: edits{"spec.taints": most[:50]}},
		{name: "too many taints", edits: edits{"spec.taints": most}, field: "spec.taints", says: "Too many: 51"},
		{name: "a taint without a key", edits: taint(m{"effect": "NoSchedule"}), field: "spec.taints[0].key", says: "Required value"},
		{name: "a taint with a long key", edits: taint(m{"key": strings.Repeat("k", 318), "effect": "NoSchedule"}), field: "spec.taints[0].key", says: "Too long"},
		{name: "a taint with a long value", edits: taint(m{"key": "k", "value": strings.Repeat("v", 64), "effect": "NoSchedule"}), field: "spec.taints[0].value", says: "Too long"},
		{name: "a taint with an effect of nodes", edits: taint(m{"key": "k", "effect": "PreferNoSchedule"}), field: "spec.taints[0].effect", says: "Unsupported value"},
	}
}
