package api_test

import (
	"slices"
	"strings"
)

func workloadCases(workload string) []testCase {
	at := "spec." + workload
	unset := edits{at + ".replicas": absent()}
	bounds := func(lowest, highest int64) edits {
		return edits{at + ".autoscaling": map[string]any{"minReplicas": lowest, "maxReplicas": highest}}
	}
	requests := func(cpu any) edits {
		return edits{at + ".resources": map[string]any{"requests": map[string]any{"cpu": cpu}}}
	}
	return slices.Concat([]testCase{
		{name: workload + " autoscaling", edits: join(unset, bounds(2, 5))},
		{name: workload + " autoscaling to one number", edits: join(unset, bounds(3, 3))},
		{
			name: workload + " autoscaling with replicas", edits: bounds(2, 5),
			field: at + ".replicas", says: "replicas must be absent when autoscaling is set",
		},
		{
			name: workload + " autoscaling upside down", edits: join(unset, bounds(5, 2)),
			field: at + ".autoscaling.minReplicas", says: "minReplicas must not exceed maxReplicas",
		},
		{
			name: workload + " autoscaling without a lower bound", edits: join(unset, edits{at + ".autoscaling": map[string]any{"maxReplicas": int64(2)}}),
			field: at + ".autoscaling.minReplicas", says: "Required value",
		},
		{
			name: workload + " autoscaling without an upper bound", edits: join(unset, edits{at + ".autoscaling": map[string]any{"minReplicas": int64(2)}}),
			field: at + ".autoscaling.maxReplicas", says: "Required value",
		},
		{name: workload + " autoscaling with a request", edits: join(unset, bounds(2, 5), requests("250m"))},
		{name: workload + " autoscaling with a request in whole numbers", edits: join(unset, bounds(2, 5), requests(int64(1)))},
		{
			name: workload + " autoscaling with a request of nothing", edits: join(unset, bounds(2, 5), requests("0")),
			field: at + ".resources.requests", says: "resources.requests.cpu must not be 0 when autoscaling is set",
		},
		{
			name: workload + " autoscaling with a request of zero millicores", edits: join(unset, bounds(2, 5), requests("0m")),
			field: at + ".resources.requests", says: "resources.requests.cpu must not be 0 when autoscaling is set",
		},
		{name: workload + " with a request of nothing", edits: requests("0")},
		{name: workload + " blue-green", edits: edits{at + ".strategy": "BlueGreen"}},
		{name: workload + " autoscaling with a rolling update", edits: join(unset, bounds(2, 5), edits{at + ".strategy": "RollingUpdate"})},
		{
			name: workload + " blue-green with autoscaling", edits: join(unset, bounds(2, 5), edits{at + ".strategy": "BlueGreen"}),
			field: at + ".strategy", says: "strategy must not be BlueGreen when autoscaling is set",
		},
		{
			name: workload + " of another strategy", edits: edits{at + ".strategy": "Recreate"},
			field: at + ".strategy", says: "Unsupported value",
		},
	}, imageCases(at+".image"))
}

// resourceCases test requests and limits, which have the same schema in frontend, backend
// and database.
func resourceCases() []testCase {
	const exceeds = "requests must not exceed limits"
	const unknown = "resources must be cpu, memory, ephemeral-storage, hugepages-<size> or have a domain, for example nvidia.com/gpu"
	at := func(workload string, requests, limits map[string]any) edits {
		return edits{"spec." + workload + ".resources": map[string]any{"requests": requests, "limits": limits}}
	}
	type amounts = map[string]any
	var cases []testCase
	for _, w := range []string{"frontend", "backend", "database"} {
		requests := "spec." + w + ".resources.requests"
		cases = append(cases,
			testCase{name: w + " equal", edits: at(w, amounts{"cpu": "1000m"}, amounts{"cpu": int64(1)})},
			testCase{name: w + " other units", edits: at(w, amounts{"memory": "1000Mi"}, amounts{"memory": "1Gi"})},
			testCase{name: w + " without that limit", edits: at(w, amounts{"cpu": "8"}, amounts{"memory": "1Gi"})},
			testCase{name: w + " without limits", edits: edits{"spec." + w + ".resources.limits": absent()}},
			testCase{name: w + " without requests", edits: edits{"spec." + w + ".resources.requests": absent()}},
			testCase{name: w + " nothing", edits: at(w, amounts{"cpu": "0"}, amounts{"cpu": "0"})},
			testCase{name: w + " devices", edits: at(w, amounts{"nvidia.com/gpu": "1"}, amounts{"nvidia.com/gpu": "1"})},
			testCase{name: w + " huge pages", edits: at(w, amounts{"hugepages-2Mi": "4Mi"}, amounts{"hugepages-2Mi": "4Mi"})},
			testCase{name: w + " request over limit", edits: at(w, amounts{"cpu": "501m"}, amounts{"cpu": "500m"}), field: requests, says: exceeds},
			testCase{name: w + " request over limit, other units", edits: at(w, amounts{"memory": "1025Mi"}, amounts{"memory": "1Gi"}), field: requests, says: exceeds},
			testCase{name: w + " number over text", edits: at(w, amounts{"cpu": int64(2)}, amounts{"cpu": "1500m"}), field: requests, says: exceeds},
			testCase{name: w + " misspelt", edits: at(w, amounts{"mem": "1Gi"}, amounts{}), field: requests, says: unknown},
			testCase{name: w + " name too long", edits: at(w, amounts{"a/" + strings.Repeat("b", 252): "1"}, amounts{}), field: requests, says: unknown},
			testCase{name: w + " in words", edits: at(w, amounts{"cpu": "1 core"}, amounts{}), field: requests + ".cpu", says: "should match '^"},
			testCase{name: w + " limit in words", edits: at(w, amounts{}, amounts{"cpu": "1 core"}), field: "spec." + w + ".resources.limits.cpu", says: "should match '^"},
			testCase{name: w + " negative", edits: at(w, amounts{"cpu": "-1"}, amounts{}), field: requests, says: "resources must not be negative"},
			testCase{
				name: w + " misspelt limit", edits: at(w, amounts{}, amounts{"CPU": "1"}),
				field: "spec." + w + ".resources.limits", says: unknown,
			},
			testCase{
				name: w + " negative limit", edits: at(w, amounts{}, amounts{"cpu": int64(-1)}),
				field: "spec." + w + ".resources.limits", says: "resources must not be negative",
			},
		)
	}
	return cases
}

// env returns an edit with one environment variable.
func env(workload string, variable map[string]any) edits {
	return edits{"spec." + workload + ".env": []any{variable}}
}

// from returns a variable with valueFrom.
func from(source string, fields map[string]any) map[string]any {
	return map[string]any{"name": "A", "valueFrom": map[string]any{source: fields}}
}

func envCases(w string) []testCase {
	field := "spec." + w + ".env"
	type m = map[string]any
	long := strings.Repeat("a", 254)
	cases := []testCase{
		{name: w + " env value", edits: env(w, m{"name": "A", "value": "b"})},
		{name: w + " env largest", edits: env(w, m{"name": long[1:], "value": strings.Repeat("v", 32768)})},
		{name: w + " env without value", edits: env(w, m{"name": "A"})},
		{name: w + " env ConfigMap", edits: env(w, from("configMapKeyRef", m{"name": "c", "key": "k"}))},
		{name: w + " env Secret", edits: env(w, from("secretKeyRef", m{"name": long[1:], "key": long[1:]}))},
		{name: w + " env field", edits: env(w, from("fieldRef", m{"fieldPath": "metadata.name"}))},
		{name: w + " env resource", edits: env(w, from("resourceFieldRef", m{"resource": "limits.cpu"}))},
		{name: w + " env resource of a container", edits: env(w, from("resourceFieldRef", m{"resource": "limits.memory", "containerName": w, "divisor": "1Mi"}))},
		{name: w + " env field of v1", edits: env(w, from("fieldRef", m{"fieldPath": "metadata.name", "apiVersion": "v1"}))},
		{name: w + " env optional", edits: env(w, from("secretKeyRef", m{"name": "s", "key": "k", "optional": true}))},
		{name: w + " env with both, one empty", edits: env(w, m{"name": "A", "value": "", "valueFrom": m{"fieldRef": m{"fieldPath": "metadata.name"}}})},
		{name: w + " env twice", edits: edits{field: []any{m{"name": "A"}, m{"name": "A"}}}, field: field + "[1]", says: "Duplicate value"},
		{name: w + " env no name", edits: env(w, m{"value": "b"}), field: field + "[0].name", says: "Required value"},
	}
	refuse := func(name, at, says string, variable m) {
		cases = append(cases, testCase{name: w + " env " + name, edits: env(w, variable), field: field + "[0]" + at, says: says})
	}
	refuse("empty name", ".name", "should be at least 1 chars long", m{"name": ""})
	refuse("long name", ".name", tooLong, m{"name": long})
	refuse("long value", ".value", tooLong, m{"name": "A", "value": strings.Repeat("v", 32769)})
	both := from("fieldRef", m{"fieldPath": "metadata.name"})
	both["value"] = "b"
	refuse("value and source", "", "env must have value or valueFrom, not both", both)
	const one = "env must have exactly one of configMapKeyRef, secretKeyRef, fieldRef and resourceFieldRef in valueFrom"
	const source = ".valueFrom"
	refuse("no source", source, one, m{"name": "A", "valueFrom": m{}})
	refuse("two sources", source, one, m{"name": "A", "valueFrom": m{
		"fieldRef":        m{"fieldPath": "metadata.name"},
		"configMapKeyRef": m{"name": "c", "key": "k"},
	}})
	for _, ref := range []string{"configMapKeyRef", "secretKeyRef"} {
		at := source + "." + ref
		refuse(ref+" without name", at+".name", "Required value", from(ref, m{"key": "k"}))
		refuse(ref+" without key", at+".key", "Required value", from(ref, m{"name": "n"}))
		refuse(ref+" with an empty name", at+".name", "should be at least 1 chars long", from(ref, m{"name": "", "key": "k"}))
		refuse(ref+" with a long name", at+".name", tooLong, from(ref, m{"name": long, "key": "k"}))
		refuse(ref+" with an empty key", at+".key", "should be at least 1 chars long", from(ref, m{"name": "n", "key": ""}))
		refuse(ref+" with a long key", at+".key", tooLong, from(ref, m{"name": "n", "key": long}))
	}
	refuse("field without path", source+".fieldRef.fieldPath", "Required value", from("fieldRef", m{}))
	refuse("long field", source+".fieldRef.fieldPath", tooLong, from("fieldRef", m{"fieldPath": strings.Repeat("f", 513)}))
	refuse("field of another version", source+".fieldRef.apiVersion", "Unsupported value", from("fieldRef", m{"fieldPath": "metadata.name", "apiVersion": "v2"}))
	refuse("no resource", source+".resourceFieldRef.resource", "Required value", from("resourceFieldRef", m{}))
	refuse("long resource", source+".resourceFieldRef.resource", tooLong, from("resourceFieldRef", m{"resource": long}))
	refuse("long container", source+".resourceFieldRef.containerName", tooLong, from("resourceFieldRef", m{"resource": "limits.cpu", "containerName": long}))
	return cases
}

// tooLong is in what is said of a text that is too long.
const tooLong = "Too long"

func envFromCases() []testCase {
	type m = map[string]any
	long := strings.Repeat("a", 254)
	var cases []testCase
	for _, w := range []string{"frontend", "backend"} {
		field := "spec." + w + ".envFrom"
		accept := func(name string, source m) {
			cases = append(cases, testCase{name: w + " envFrom " + name, edits: edits{field + "[]": source}})
		}
		refuse := func(name, at, says string, source m) {
			cases = append(cases, testCase{name: w + " envFrom " + name, edits: edits{field + "[]": source}, field: field + "[0]" + at, says: says})
		}
		accept("ConfigMap", m{"configMapRef": m{"name": "c"}, "prefix": long[1:]})
		accept("Secret", m{"secretRef": m{"name": long[1:], "optional": true}})
		const either = "envFrom must have either configMapRef or secretRef in each entry"
		refuse("both", "", either, m{"configMapRef": m{"name": "c"}, "secretRef": m{"name": "s"}})
		refuse("neither", "", either, m{"prefix": "A_"})
		refuse("ConfigMap without name", ".configMapRef.name", "Required value", m{"configMapRef": m{}})
		refuse("ConfigMap with an empty name", ".configMapRef.name", "should be at least 1 chars long", m{"configMapRef": m{"name": ""}})
		refuse("Secret without name", ".secretRef.name", "Required value", m{"secretRef": m{}})
		refuse("Secret with a long name", ".secretRef.name", tooLong, m{"secretRef": m{"name": long}})
		refuse("long prefix", ".prefix", tooLong, m{"secretRef": m{"name": "s"}, "prefix": long})
	}
	return cases
}
