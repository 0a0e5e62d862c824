package api_test

import (
	"slices"
	"strings"
)

// registryCases test registries, with and without a port and a path.
func registryCases() []testCase {
	const field = "spec.imageRegistry"
	var cases []testCase
	for _, registry := range []string{"mirror", "mirror.example.com", "mirror.example.com:5000", "10.0.0.1:5000/hub", "eu.pkg.dev/project/shop_a/b-c"} {
		cases = append(cases, testCase{name: "registry " + registry, edits: edits{field: registry}})
	}
	for _, registry := range []string{"https://mirror", "mirror/", "-mirror", "mirror:port", "mirror/Hub", "mirror//a", "mirror:5000:1"} {
		cases = append(cases, testCase{name: "registry " + registry, edits: edits{field: registry}, field: field, says: "should match '^[a-zA-Z0-9]"})
	}
	return cases
}

// overrideCases test overrides. What they share with the spec is tested once more for one component.
func overrideCases() []testCase {
	type m = map[string]any
	const field, first = "spec.overrides", "spec.overrides[0]"
	pods := m{
		"image": "shop:v2", "replicas": int64(0), "resources": m{"requests": m{"cpu": "1"}, "limits": m{"memory": "1Gi"}},
		"imagePullSecrets": []any{named("eu")}, "nodeSelector": m{"disk": "ssd"},
	}
	database := m{"image": "postgres:17.2", "replicas": int64(9), "storageProfile": "Fast", "nodeSelector": m{"disk": "ssd"}}
	cases := []testCase{
		{name: "every field", edits: edits{field + "[]": m{
			"selector": m{
				"clusterSelector": m{"matchLabels": m{"tier": "gold"}, "matchExpressions": []any{m{"key": "a", "operator": "In", "values": []any{"b"}}}},
				"clusterNames":    []any{"eu-1"}, "regions": []any{"eu-west-1"}, "providers": []any{"aws"},
			},
			"image": "shop:v2", "imageRegistry": "mirror.example.com", "replicas": int64(1000), "frontend": pods, "backend": pods, "database": database,
			"ingress":     m{"host": "eu.example.com", "className": "alb", "annotations": m{"a": "b"}},
			"jsonPatches": []any{m{"op": "add", "path": "/backend/port", "value": int64(80)}},
		}}},
		{name: "an empty override", edits: edits{field + "[]": m{}}},
		{name: "50 overrides", edits: edits{field: slices.Repeat([]any{m{"image": "shop:v2"}}, 50)}},
		{name: "51 overrides", edits: edits{field: slices.Repeat([]any{m{"image": "shop:v2"}}, 51)}, field: field, says: "must have at most 50 items"},
	}
	refuse := func(path, says string, value any) {
		outer, inner, nested := strings.Cut(path, ".")
		if nested {
			value = m{inner: value}
		}
		cases = append(cases, testCase{name: "override of " + path, edits: edits{field + "[]": m{outer: value}}, field: first + "." + path, says: says})
	}
	refuse("image", "image must be a reference", "shop;v1")
	refuse("imageRegistry", "should match '^", "https://mirror")
	refuse("replicas", "should be less than or equal to 1000", int64(1001))
	refuse("frontend.replicas", "should be greater than or equal to 0", int64(-1))
	refuse("backend.image", "image must be a reference", "shop;v1")
	both := m{"name": "A", "value": "b", "valueFrom": m{"fieldRef": m{"fieldPath": "a"}}}
	cases = append(cases, testCase{
		name: "override of backend.env", edits: edits{field + "[]": m{"backend": m{"env": []any{both}}}},
		field: first + ".backend.env[0]", says: "env must have value or valueFrom, not both",
	})
	refuse("frontend.nodeSelector", "nodeSelector must have keys of at most 317", m{strings.Repeat("k", 318): "v"})
	refuse("database.replicas", "should be greater than or equal to 1", int64(0))
	refuse("database.storageProfile", "Unsupported value", "Slow")
	refuse("ingress.host", "host must be a DNS name", "https://shop.example.com")
	refuse("ingress.annotations", "annotations must not begin with ecommerce.io/", m{"ecommerce.io/adopt": "Always"})
	return cases
}

// patchCases test JSON patches.
func patchCases() []testCase {
	type m = map[string]any
	const field = "spec.overrides[0].jsonPatches"
	with := func(patches ...any) edits { return edits{"spec.overrides[]": m{"jsonPatches": patches}} }
	test := m{"op": "test", "path": "/image", "value": "shop:v1"}
	cases := []testCase{
		{name: "a value of each type", edits: with(
			m{"op": "add", "path": "/a", "value": int64(1)}, m{"op": "add", "path": "/a", "value": "b"}, m{"op": "replace", "path": "/a/0", "value": false},
			m{"op": "test", "path": "/a~0~1/-", "value": m{"b": []any{m{}}}},
		)},
		{name: "move and copy", edits: with(m{"op": "move", "path": "/a", "from": "/b"}, m{"op": "copy", "path": "/a", "from": "/b"})},
		{name: "remove", edits: with(m{"op": "remove", "path": "/backend/port"})},
		{name: "paths that begin like others", edits: with(m{"op": "remove", "path": "/placements"}, m{"op": "remove", "path": "/database/backups"}, m{"op": "remove", "path": "/database"})},
		{name: "20 patches", edits: with(slices.Repeat([]any{test}, 20)...)},
		{name: "21 patches", edits: with(slices.Repeat([]any{test}, 21)...), field: field, says: "must have at most 20 items"},
		{name: "patch without op", edits: with(m{"path": "/a"}), field: field + "[0].op", says: "Required value"},
		{name: "patch without path", edits: with(m{"op": "remove"}), field: field + "[0].path", says: "Required value"},
		{name: "patch with an unknown op", edits: with(m{"op": "merge", "path": "/a"}), field: field + "[0].op", says: "Unsupported value"},
		{name: "patch with a long path", edits: with(m{"op": "remove", "path": "/" + strings.Repeat("a", 512)}), field: field + "[0].path", says: "may not be more than 512 bytes"},
	}
	for _, path := range []string{"backend", "/a//b", "/a/", "/a~2", "/a~"} {
		cases = append(cases, testCase{name: "path " + path, edits: with(m{"op": "remove", "path": path}), field: field + "[0].path", says: "should match '^"})
	}
	for _, path := range []string{"/placement", "/placement/regions/0", "/overrides/0", "/rollout", "/propagate/-", "/deletion", "/paused", "/database/engine", "/database/version", "/database/backup/schedule"} {
		cases = append(cases, testCase{
			name: "path " + path, edits: with(m{"op": "remove", "path": path}), field: field + "[0].path",
			says: "path must not be in placement, overrides, rollout, propagate, deletion, paused",
		})
	}
	const from = "from must be set when op is move or copy, and absent otherwise"
	for _, p := range []m{{"op": "move", "path": "/a"}, {"op": "copy", "path": "/a"}, {"op": "remove", "path": "/a", "from": "/b"}} {
		cases = append(cases, testCase{name: "from with " + p["op"].(string), edits: with(p), field: field + "[0].from", says: from})
	}
	return append(cases, testCase{name: "from without a slash", edits: with(m{"op": "copy", "path": "/a", "from": "bc"}), field: field + "[0].from", says: "should match '^"})
}
