package api_test

import (
	"slices"
	"strings"
)

// podCases test the settings of pods, which have the same schema in each component.
func podCases(component string) []testCase {
	at := "spec." + component
	type m = map[string]any
	var cases []testCase
	accept := func(name, field string, value any) {
		cases = append(cases, testCase{name: component + " " + name, edits: edits{at + field: value}})
	}
	refuse := func(name, field, says string, value any) {
		cases = append(cases, testCase{name: component + " " + name, edits: edits{at + field: value}, field: item(at + field), says: says})
	}
	accept("node labels", ".nodeSelector", m{"topology.kubernetes.io/zone": "eu-west-1a", "ssd": "", strings.Repeat("k", 317): strings.Repeat("v", 63)})
	const sized = "nodeSelector must have keys of at most 317 and values of at most 63 characters"
	refuse("long node label", ".nodeSelector", sized, m{strings.Repeat("k", 318): "v"})
	refuse("long value of a node label", ".nodeSelector", sized, m{"k": strings.Repeat("v", 64)})

	const annotations = ".serviceAccountAnnotations"
	accept("role of the ServiceAccount", annotations, m{"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/shop", "k": strings.Repeat("v", 4096)})
	refuse("long annotation", annotations, "keys of at most 317 and values of at most 4096 characters", m{"k": strings.Repeat("v", 4097)})
	refuse("annotation of ours", annotations, "serviceAccountAnnotations must not begin with ecommerce.io/", m{"ecommerce.io/adopt": "Always"})

	accept("labels of pods", ".podLabels", m{"azure.workload.identity/use": "true", "kueue.x-k8s.io/queue-name": "shops", strings.Repeat("k", 317): strings.Repeat("v", 63)})
	refuse("long label of pods", ".podLabels", "podLabels must have keys of at most 317 and values of at most 63 characters", m{strings.Repeat("k", 318): "v"})
	refuse("long value of a label of pods", ".podLabels", "podLabels must have keys of at most 317 and values of at most 63 characters", m{"k": strings.Repeat("v", 64)})
	for _, key := range []string{"ecommerce.io/uid", "app.kubernetes.io/component", "kubernetes.io/os", "statefulset.kubernetes.io/pod-name"} {
		refuse("label of pods "+key, ".podLabels", "podLabels must not begin with ecommerce.io/, kubernetes.io/ or a domain of kubernetes.io", m{key: "v"})
	}
	for _, key := range []string{"pod-template-hash", "controller-revision-hash", "controller-uid", "job-name"} {
		refuse("label of pods "+key, ".podLabels", "podLabels must not have pod-template-hash", m{key: "v"})
	}
	accept("annotations of pods", ".podAnnotations", m{"sidecar.istio.io/inject": "false", "kubectl.kubernetes.io/default-container": "app", "k": strings.Repeat("v", 4096)})
	refuse("long annotation of pods", ".podAnnotations", "keys of at most 317 and values of at most 4096 characters", m{"k": strings.Repeat("v", 4097)})
	refuse("annotation of pods of ours", ".podAnnotations", "podAnnotations must not begin with ecommerce.io/", m{"ecommerce.io/restarted-at": "now"})

	accept("pull secrets", ".imagePullSecrets", []any{named("a"), named("b")})
	cases = append(cases, testCase{
		name: component + " pull secret twice", edits: edits{at + ".imagePullSecrets": []any{named("a"), named("a")}},
		field: at + ".imagePullSecrets[1]", says: "Duplicate value",
	}, testCase{
		name: component + " pull secret without a name", edits: edits{at + ".imagePullSecrets": []any{m{}}},
		field: at + ".imagePullSecrets[0].name", says: "Required value",
	}, testCase{
		name: component + " pull secret with a capital", edits: edits{at + ".imagePullSecrets": []any{named("Registry")}},
		field: at + ".imagePullSecrets[0].name", says: "should match '^[a-z0-9]",
	})
	return slices.Concat(cases, tolerationCases(component), affinityCases(component), referenceCases(at+".priorityClassName", nil))
}

func tolerationCases(component string) []testCase {
	field := "spec." + component + ".tolerations"
	type m = map[string]any
	var cases []testCase
	for name, toleration := range map[string]m{
		"all":   {"operator": "Exists"},
		"key":   {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"},
		"value": {"key": "dedicated", "value": "shop", "effect": "PreferNoSchedule"},
		"time":  {"key": "spot", "operator": "Equal", "value": "true", "effect": "NoExecute", "tolerationSeconds": int64(60)},
	} {
		cases = append(cases, testCase{name: component + " tolerates " + name, edits: edits{field + "[]": toleration}})
	}
	refuse := func(name, at, says string, toleration m) {
		cases = append(cases, testCase{name: component + " tolerates " + name, edits: edits{field + "[]": toleration}, field: field + "[0]" + at, says: says})
	}
	refuse("a long key", ".key", tooLong, m{"key": strings.Repeat("k", 318)})
	refuse("a long value", ".value", tooLong, m{"key": "k", "value": strings.Repeat("v", 64)})
	refuse("by an unknown operator", ".operator", "Unsupported value", m{"key": "k", "operator": "In"})
	refuse("an unknown effect", ".effect", "Unsupported value", m{"key": "k", "effect": "Never"})
	const keyed = "tolerations must have a key with the operator Equal, and no value with Exists"
	refuse("a value alone", "", keyed, m{"value": "v"})
	refuse("any value, and one", "", keyed, m{"key": "k", "operator": "Exists", "value": "v"})
	refuse("for a while what does not evict", "", "tolerations must have tolerationSeconds only with the effect NoExecute",
		m{"key": "k", "effect": "NoSchedule", "tolerationSeconds": int64(1)})
	refuse("for less than no time", ".tolerationSeconds", "should be greater than or equal to 0", m{"key": "k", "effect": "NoExecute", "tolerationSeconds": int64(-1)})
	return cases
}

func affinityCases(component string) []testCase {
	type m = map[string]any
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	at := "spec." + component + ".affinity"
	nodes := func(requirement m) edits {
		return edits{at: m{"nodeAffinity": m{required: m{"nodeSelectorTerms": []any{m{"matchExpressions": []any{requirement}}}}}}}
	}
	pods := func(selector m) edits {
		return edits{at: m{"podAntiAffinity": m{preferred: []any{m{"weight": int64(100), "podAffinityTerm": m{"topologyKey": "zone", "labelSelector": selector}}}}}}
	}
	inNodes := at + ".nodeAffinity." + required + ".nodeSelectorTerms"
	expression := inNodes + "[0].matchExpressions[0]"
	inPods := at + ".podAntiAffinity." + preferred + "[0].podAffinityTerm.labelSelector"
	const valued = "values must be set with the operators In, NotIn, Gt and Lt, and be absent with Exists and DoesNotExist"
	const numeric = "values must be one whole number with the operators Gt and Lt"
	cases := []testCase{
		{name: "nodes in", edits: nodes(m{"key": "zone", "operator": "In", "values": []any{"a", "b"}})},
		{name: "nodes with more", edits: nodes(m{"key": "cores", "operator": "Gt", "values": []any{"8"}})},
		{name: "nodes with", edits: nodes(m{"key": "ssd", "operator": "Exists"})},
		{name: "pods with", edits: pods(m{"matchLabels": m{"app": "x"}, "matchExpressions": []any{m{"key": "tier", "operator": "NotIn", "values": []any{"a"}}}})},
		{name: "no terms", edits: edits{at: m{"nodeAffinity": m{required: m{"nodeSelectorTerms": []any{}}}}}, field: inNodes, says: "should have at least 1 items"},
		{name: "unknown operator", edits: nodes(m{"key": "a", "operator": "Near"}), field: expression + ".operator", says: "Unsupported value"},
		{name: "no key", edits: nodes(m{"operator": "Exists"}), field: expression + ".key", says: "Required value"},
		{name: "in without values", edits: nodes(m{"key": "a", "operator": "In"}), field: expression + ".values", says: valued},
		{name: "exists with values", edits: nodes(m{"key": "a", "operator": "Exists", "values": []any{"b"}}), field: expression + ".values", says: valued},
		{name: "more than a word", edits: nodes(m{"key": "a", "operator": "Gt", "values": []any{"many"}}), field: expression + ".values", says: numeric},
		{
			name: "pods by number", edits: pods(m{"matchExpressions": []any{m{"key": "a", "operator": "Lt", "values": []any{"1"}}}}),
			field: inPods + ".matchExpressions", says: "matchExpressions must have the operators In, NotIn, Exists or DoesNotExist",
		},
		{
			name: "long label of pods", edits: pods(m{"matchLabels": m{strings.Repeat("k", 318): "v"}}),
			field: inPods + ".matchLabels", says: "matchLabels must have keys of at most 317 and values of at most 63 characters",
		},
	}
	for i := range cases {
		cases[i].name = component + " affinity " + cases[i].name
	}
	return cases
}

func probeCases(workload string) []testCase {
	var cases []testCase
	for _, path := range []string{"spec." + workload + ".probes.readinessPath", "spec." + workload + ".probes.livenessPath"} {
		for _, value := range []string{"/", "/healthz", "/ready?deep=1"} {
			cases = append(cases, testCase{name: path + " " + value, edits: edits{path: value}})
		}
		for _, value := range []string{"healthz", "http://shop/healthz", "/a b", "/\n"} {
			cases = append(cases, testCase{name: path + " " + value, edits: edits{path: value}, field: path, says: "should match '^/[!-~]*$"})
		}
	}
	return cases
}

func monitoringCases() []testCase {
	const field = "spec.monitoring.labels"
	type m = map[string]any
	const reserved = "labels must not begin with ecommerce.io/ or app.kubernetes.io/"
	return []testCase{
		{name: "labels for Prometheus", edits: edits{field: m{"release": "prometheus", "example.com/team": ""}}},
		{name: "long label", edits: edits{field: m{"k": strings.Repeat("v", 64)}}, field: field, says: "labels must have keys of at most 317"},
		{name: "label of ours", edits: edits{field: m{"ecommerce.io/uid": "x"}}, field: field, says: reserved},
		{name: "label of Kubernetes", edits: edits{field: m{"app.kubernetes.io/name": "x"}}, field: field, says: reserved},
	}
}

func loginCases() []testCase {
	const domains, groups = "spec.security.authentication.emailDomains", "spec.security.authentication.allowedGroups"
	cases := []testCase{
		{name: "all users", edits: edits{domains: []any{"*"}}},
		{name: "domains", edits: edits{domains: []any{"example.com", ".example.org", "localhost"}}},
		{name: "all users and a domain", edits: edits{domains: []any{"*", "example.com"}}, field: domains, says: "emailDomains must have * as the only entry, or domains"},
		{name: "domain twice", edits: edits{domains: []any{"a.com", "a.com"}}, field: domains + "[1]", says: "Duplicate value"},
		{name: "groups", edits: edits{groups: []any{"buyers", "Team A", "/shop/admins", "0a1b-2c"}}},
		{name: "group twice", edits: edits{groups: []any{"a", "a"}}, field: groups + "[1]", says: "Duplicate value"},
	}
	const networks = "spec.security.authentication.trustedProxies"
	cases = append(cases, testCase{name: "trusted proxies", edits: edits{networks: []any{"10.244.0.0/16", "192.0.2.7/32", "fd00:10::/32", "::1/128"}}},
		testCase{name: "network twice", edits: edits{networks: []any{"10.0.0.0/8", "10.0.0.0/8"}}, field: networks + "[1]", says: "Duplicate value"})
	for _, network := range []string{"10.244.0.1/16", "10.244.0.1", "10.244.0.0/33", "0.0.0.0/0", "::/0", "proxy", "10.0.0.0/8,0.0.0.0/0"} {
		cases = append(cases, testCase{name: "network " + network, edits: edits{networks: []any{"10.0.0.0/8", network}}, field: networks, says: "trustedProxies must be networks in CIDR notation"})
	}
	for _, domain := range []string{"me@example.com", "*.example.com", "Example.com", "a,b.com", "a..com"} {
		cases = append(cases, testCase{name: "domain " + domain, edits: edits{domains: []any{domain}}, field: domains + "[0]", says: "should match '^([*]|"})
	}
	for _, group := range []string{"a,b", `"a"`, " a", "a\n", "ü"} {
		cases = append(cases, testCase{name: "group " + group, edits: edits{groups: []any{group}}, field: groups + "[0]", says: "should match '^[!#-+.-~-]"})
	}
	return slices.Concat(cases, imageCases("spec.security.authentication.image"))
}
