package api_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// testBounds sends values at each bound and just outside it.
func (s *server) testBounds(t *testing.T) {
	ranges, lengths, counts, values := numbers(), texts(), sizes(), enums()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			var cases []testCase
			for path, bounds := range ranges[k.name] {
				cases = append(cases, numberCases(k, path, bounds)...)
			}
			for path, row := range lengths[k.name] {
				cases = append(cases, textCases(path, row)...)
			}
			for path, highest := range counts[k.name] {
				cases = append(cases, sizeCases(path, highest)...)
			}
			for path, allowed := range values[k.name] {
				cases = append(cases, enumCases(k, path, allowed)...)
			}
			s.check(t, k, cases)
		})
	}
}

// item returns the path of the only item where the path is that of the items of a list or of a map.
func item(path string) string {
	return strings.Replace(strings.Replace(path, "[]", "[0]", 1), "{}", ".key", 1)
}

// entry sets a value, also in the only entry of a list of objects or of a map.
func entry(path string, value any) edits {
	if m, isMap := strings.CutSuffix(path, "{}"); isMap {
		return edits{m: map[string]any{"key": value}}
	}
	if list, name, nested := strings.Cut(path, "[]."); nested {
		return edits{list + "[]": map[string]any{name: value}}
	}
	return edits{path: value}
}

func numberCases(k kind, path string, bounds limits) []testCase {
	with := edits{}
	if k.name == "EcommerceApp" {
		with = join(roomFor(path))
	}
	if i := strings.Index(path, ".autoscaling."); i > 0 {
		// The other bound leaves room for any value of this one.
		with[path[:i]+".replicas"] = absent()
		with[path[:i]+".autoscaling"] = map[string]any{"minReplicas": int64(1), "maxReplicas": int64(1000)}
	}
	at := func(value int64) edits { return nest(with, path, value) }
	small, large := besides(k, path, bounds)
	return []testCase{
		{name: path + " least", edits: at(bounds.Min)},
		{name: path + " most", edits: at(bounds.Max)},
		{
			name: path + " too small", edits: at(bounds.Min - 1), field: path,
			says: "should be greater than or equal to " + strconv.FormatInt(bounds.Min, 10), also: small,
		},
		{
			name: path + " too large", edits: at(bounds.Max + 1), field: path,
			says: "should be less than or equal to " + strconv.FormatInt(bounds.Max, 10), also: large,
		},
	}
}

// besides returns the other fault that a number outside its bounds causes.
func besides(k kind, path string, bounds limits) (small, large string) {
	switch {
	case strings.HasSuffix(path, ".minReplicas"):
		return "", path
	case strings.HasSuffix(path, ".maxReplicas"):
		return strings.Replace(path, ".maxReplicas", ".minReplicas", 1), ""
	case path == k.scaled && bounds.Min == 0:
		// A string of digits that fills the maximum length is not a valid size of a disk or
		// age of a backup.
		return "." + path, ""
	}
	return "", ""
}

// nest sets a value within a value that other edits set as a whole.
func nest(with edits, path string, value any) edits {
	all := join(with)
	for outer, whole := range with {
		inner, inside := strings.CutPrefix(path, outer+".")
		fields, is := whole.(map[string]any)
		if !inside || !is {
			continue
		}
		changed := map[string]any{inner: value}
		for name, other := range fields {
			if name != inner {
				changed[name] = other
			}
		}
		all[outer] = changed
		return all
	}
	all[path] = value
	return all
}

func textCases(path string, row text) []testCase {
	at := func(n int64) edits { return join(row.with, entry(path, row.make(int(n)))) }
	cases := []testCase{
		{
			name: path + " too long", edits: at(row.Max + 1), field: item(path),
			says: fmt.Sprintf("Too long: may not be more than %d bytes", row.Max),
		},
	}
	if row.Min > 0 {
		also := ""
		if strings.HasSuffix(path, ".image") || strings.HasSuffix(path, ".version") || strings.HasSuffix(path, ".endpoint") {
			// These have a rule besides their bounds.
			also = path
		}
		if strings.HasSuffix(path, ".trustedProxies[]") {
			also = strings.TrimSuffix(path, "[]") // The rule is that of the list.
		}
		cases = append(cases, testCase{
			name: path + " empty", edits: join(row.with, entry(path, "")), field: item(path),
			says: fmt.Sprintf("should be at least %d chars long", row.Min), also: also,
		})
	}
	// A string of digits that fills the maximum length is not a valid size of a disk, age of
	// a backup or time to wait.
	if !slices.Contains([]string{"storage", "size", "maxRPO", "unreachableTimeout", "soak", "progressDeadline"}, path[strings.LastIndex(path, ".")+1:]) {
		cases = append(cases, testCase{name: path + " longest", edits: at(row.Max)})
	}
	return cases
}

func sizeCases(path string, highest int64) []testCase {
	if strings.HasSuffix(path, ".providers") {
		// There are as many providers as the list may have items.
		return []testCase{{
			name: path + " too many", edits: edits{path: []any{"aws", "gcp", "azure", "other", "aws"}},
			field: path, says: fmt.Sprintf("Too many: 5: must have at most %d items", highest), also: path + "[4]",
		}}
	}
	with := edits{}
	switch {
	case strings.HasPrefix(path, "spec.azure."):
		with = join(on("azure"), edits{"spec.regions": absent()})
	case strings.HasPrefix(path, "spec.gcp."):
		with = on("gcp")
	}
	return []testCase{
		{name: path + " most", edits: join(with, edits{path: filled(path, highest)})},
		{
			name: path + " too many", edits: join(with, edits{path: filled(path, highest+1)}), field: path,
			says: fmt.Sprintf("Too many: %d: must have at most %d items", highest+1, highest),
		},
	}
}

// filled returns a list or a map of the given size whose entries are valid.
func filled(path string, size int64) any {
	var list []any
	m := map[string]any{}
	for i := range int(size) {
		name := numbered("example.com/item", i)
		switch {
		case strings.HasSuffix(path, ".env"):
			list = append(list, map[string]any{"name": name, "value": "v"})
		case strings.HasSuffix(path, ".imagePullSecrets"):
			list = append(list, named(numbered("registry", i)))
		case strings.HasSuffix(path, ".tolerations"):
			list = append(list, map[string]any{"key": name, "operator": "Exists"})
		case strings.HasSuffix(path, ".emailDomains"):
			list = append(list, numbered("example", i))
		case strings.HasSuffix(path, ".trustedProxies"):
			list = append(list, fmt.Sprintf("10.%d.0.0/16", i))
		case strings.HasSuffix(path, ".envFrom"):
			list = append(list, map[string]any{"secretRef": map[string]any{"name": name}})
		case strings.HasSuffix(path, "s.requests"):
			m[name] = "0"
		case strings.HasSuffix(strings.ToLower(path), "regions"):
			list = append(list, numbered("region", i))
		case strings.HasSuffix(path, ".aws.keys"):
			m[name] = "alias/shop"
		case strings.HasSuffix(path, ".gcp.keys"):
			m[name] = globalKey
		case strings.HasSuffix(path, ".azure.keys"):
			m[name] = diskSet + "shop"
		case strings.HasSuffix(path, ".resourceGroups"), strings.HasSuffix(strings.ToLower(path), "annotations"), strings.HasSuffix(path, ".nodeSelector"), strings.HasSuffix(strings.ToLower(path), "labels"), strings.HasSuffix(path, ".parameters"), strings.HasSuffix(path, ".limits"):
			m[name] = "1"
		default:
			list = append(list, name)
		}
	}
	if len(m) > 0 {
		return m
	}
	return list
}

func enumCases(k kind, path string, allowed []string) []testCase {
	with := edits{}
	switch {
	case k.name == "EcommerceApp" && strings.HasPrefix(path, "spec.cloudConfig."):
		// Blocks of a shop are for whichever clusters it is placed on.
	case strings.Contains(path, ".issuerRef."):
		with = edits{"spec.ingress.host": "shop.example.com", "spec.security.tls.issuerRef": map[string]any{"name": "letsencrypt"}}
	case strings.Contains(path, ".gatewayRef."):
		with = gateway()
	case strings.Contains(path, ".externalDNS."):
		with = edits{"spec.ingress.host": "shop.example.com"}
	case strings.HasPrefix(path, "spec.cloudConfig.gcp"):
		with = only("gcp")
	case strings.HasPrefix(path, "spec.cloudConfig.azure"):
		with = only("azure")
	case path == "spec.cloud.provider":
		with = edits{"spec.cloudConfig": absent()}
	case path == "spec.database.engine":
		with = edits{"spec.database.version": "8.4.2"} // MySQL needs three numbers.
	}
	var cases []testCase
	for _, value := range allowed {
		if tc, special := cloudEnumCase(k, path, value); special {
			cases = append(cases, tc)
			continue
		}
		changes := nest(with, path, value)
		if k.name == "EcommerceApp" && (value == "io1" || value == "io2") {
			changes = join(changes, edits{ebsBlock + ".iops": int64(5000)})
		}
		cases = append(cases, testCase{name: path + " " + value, edits: changes})
	}
	spelled := strings.ToUpper(allowed[0])
	if spelled == allowed[0] {
		spelled = strings.ToLower(spelled)
	}
	for _, value := range []string{"another", spelled, ""} {
		cases = append(cases, testCase{
			name: path + " not " + value, edits: nest(with, path, value), field: item(path),
			says: fmt.Sprintf("Unsupported value: %q: supported values: ", value),
		})
	}
	return cases
}
