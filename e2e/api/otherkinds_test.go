package api_test

import (
	"slices"
	"strings"
	"testing"
)

func (s *server) testMemberCluster(t *testing.T) {
	const pattern = "should match '^"
	cases := []testCase{
		{name: "nothing given"},
		{name: "all given", edits: edits{
			"spec.kubeconfigSecretRef": map[string]any{"name": "eu-1", "key": "kubeconfig"},
			"spec.provider":            "aws",
			"spec.region":              "eu-west-1",
			"spec.mode":                "Agent",
			"spec.cloudAccountRef":     map[string]any{"name": "aws-production"},
			"spec.health": map[string]any{
				"probePeriodSeconds": int64(5), "failureThreshold": int64(3), "successThreshold": int64(2),
			},
		}},
		{name: "key with a slash", edits: edits{"spec.kubeconfigSecretRef.key": "a/b"}, field: "spec.kubeconfigSecretRef.key", says: pattern},
		{
			name: "account without a name", edits: edits{"spec.cloudAccountRef": map[string]any{}},
			field: "spec.cloudAccountRef.name", says: "Required value",
		},
		{name: "empty key", edits: edits{"spec.kubeconfigSecretRef.key": ""}, field: "spec.kubeconfigSecretRef.key", says: pattern},
	}
	for _, region := range []string{"eu west", "-eu", "eu-"} {
		cases = append(cases, testCase{name: "region " + region, edits: edits{"spec.region": region}, field: "spec.region", says: pattern})
	}
	s.check(t, memberClusters(), slices.Concat(cases, taintCases(), referenceCases("spec.kubeconfigSecretRef.name", nil),
		referenceCases("spec.cloudAccountRef.name", nil)))
}

func (s *server) testWebApp(t *testing.T) {
	const says = "image must have a tag other than latest, or a digest, for example nginx:1.25"
	digest := "@sha256:" + strings.Repeat("0a", 32)
	cases := []testCase{
		{name: "no image", edits: edits{"spec.image": absent()}, field: "spec.image", says: "Required value"},
	}
	for _, image := range []string{
		"nginx:1.25", "nginx" + digest, "nginx:1.25" + digest, "nginx:latest" + digest,
		"registry.example.com:5000/team/nginx:1.25", "registry.example.com:5000/nginx" + digest,
		"nginx:latest-1", "nginx:" + strings.Repeat("t", 128),
	} {
		cases = append(cases, testCase{name: image, edits: edits{"spec.image": image}})
	}
	for _, image := range []string{
		"nginx", "nginx:latest", "nginx:", "registry.example.com:5000/nginx", "registry.example.com:5000/nginx:latest",
		"nginx@sha256:abc", "nginx@md5:" + strings.Repeat("0", 32), "nginx:1 .25", " nginx:1.25", "nginx:1.25 ",
		"nginx:" + strings.Repeat("t", 129), "nginx:-1",
	} {
		cases = append(cases, testCase{name: image, edits: edits{"spec.image": image}, field: "spec.image", says: says})
	}
	s.check(t, webApps(), cases)
}

func (s *server) testMySQLCluster(t *testing.T) {
	class, alias := "spec.storage.storageClass", "spec.storage.storageClassName"
	type m = map[string]any
	cases := []testCase{
		{name: "smallest", edits: edits{"spec": m{"version": "8.4.2", "storage": m{"size": "1Gi"}}}},
		{name: "no size", edits: edits{"spec.storage.size": absent()}, field: "spec.storage.size", says: "Required value"},
		{name: "no version", edits: edits{"spec.version": absent()}, field: "spec.version", says: "Required value"},
		{name: "no storage", edits: edits{"spec.storage": absent()}, field: "spec.storage", says: "Required value"},
		{name: "size 100GB", edits: edits{"spec.storage.size": "100GB"}, field: "spec.storage.size", says: "size must be a whole number of Ki, Mi, Gi or Ti, for example 100Gi"},
		{name: "version latest", edits: edits{"spec.version": "latest"}, field: "spec.version", says: "version must begin with a number, for example 8.0.33 or 8.0.36-debian"},
		{name: "version of two numbers", edits: edits{"spec.version": "8.4-debian"}, field: "spec.version", says: versionFloats},
		{name: "class by its other name", edits: edits{class: absent(), alias: "gp3"}},
		{name: "class by both names", edits: edits{alias: "gp3"}},
		{name: "two classes", edits: edits{alias: "gp2"}, field: alias, says: "storageClass and storageClassName are aliases and must not differ"},
		{name: "parameters as text", edits: edits{"spec.storage.parameters": m{"iops": int64(3000)}}, field: "spec.storage.parameters.iops", says: `must be of type string: "integer"`},
		{name: "largest parameter", edits: edits{"spec.storage.parameters": m{strings.Repeat("k", 253): strings.Repeat("v", 1024)}}},
		{
			name: "parameter with a long key", edits: edits{"spec.storage.parameters": m{strings.Repeat("k", 254): "v"}},
			field: "spec.storage.parameters", says: "parameters must have keys of at most 253 and values of at most 1024 characters",
		},
		{
			name: "parameter with a long value", edits: edits{"spec.storage.parameters": m{"k": strings.Repeat("v", 1025)}},
			field: "spec.storage.parameters", says: "parameters must have keys of at most 253 and values of at most 1024 characters",
		},
		{name: "iops as text", edits: edits{"spec.cloudConfig.aws.ebs.iops": "3000"}, field: "spec.cloudConfig.aws.ebs.iops", says: "must be of type integer"},
		{name: "gcp on gcp", edits: join(only("gcp"), edits{"spec.cloudConfig.gcp": m{"pdType": "pd-ssd", "gkeMachineType": "n2-standard-4"}})},
		{name: "azure on azure", edits: join(only("azure"), edits{"spec.cloudConfig.azure": m{"diskSku": "Premium_LRS", "aksNodePool": "Standard_D4s_v5"}})},
	}
	for _, region := range []string{"eu west", "-eu", "eu-"} {
		cases = append(cases, testCase{name: "region " + region, edits: edits{"spec.cloud.region": region}, field: "spec.cloud.region", says: "should match '^"})
	}
	for field, bad := range map[string]string{
		"spec.cloudConfig.aws.rds.instanceClass": "r6g.2xlarge",
		"spec.cloudConfig.gcp.gkeMachineType":    "N2_standard",
		"spec.cloudConfig.azure.aksNodePool":     "_v5",
	} {
		provider := split(field)[2]
		with := edits{"spec.cloud.provider": provider}
		if provider != "aws" {
			with = only(provider)
		}
		cases = append(cases, testCase{name: field + " " + bad, edits: join(with, edits{field: bad}), field: field, says: "should match '^"})
	}
	s.check(t, mySQLClusters(), slices.Concat(cases, deletedVolumes(), clientCases("spec.clients"), crossProviderCases(), referenceCases(class, nil),
		referenceCases(alias, edits{class: absent()})))
}

// crossProviderCases set the block of each provider for each other provider.
func crossProviderCases() []testCase {
	var cases []testCase
	providers := []string{"aws", "gcp", "azure"}
	for _, block := range providers {
		for _, provider := range append(providers, "other") {
			tc := testCase{
				name:  block + "'s block on " + provider,
				edits: edits{"spec.cloud.provider": provider, "spec.cloudConfig": map[string]any{block: map[string]any{}}},
			}
			if block != provider {
				tc.field = "spec.cloudConfig." + block
				tc.says = "cloudConfig." + block + " needs cloud.provider " + block
			}
			cases = append(cases, tc)
		}
	}
	return cases
}

// testNames tests the bounds of the names of objects.
func (s *server) testNames(t *testing.T) {
	for _, k := range kinds() {
		named := func(name string) edits { return edits{"metadata.name": name} }
		t.Run(k.name, func(t *testing.T) {
			longer := testCase{name: "64 characters", edits: named(strings.Repeat("a", 64))}
			if k.named != "" {
				longer.field, longer.says = "<nil>", "metadata.name must be at most 63 characters: it becomes "+k.named
			}
			s.check(t, k, []testCase{
				{name: "one letter", edits: named("a")},
				{name: "63 characters", edits: named(strings.Repeat("a", 63))},
				{name: "dots and digits", edits: named("1.shop.example")},
				longer,
				{name: "upper case", edits: named("Shop"), field: "metadata.name", says: "a lowercase RFC 1123 subdomain"},
			})
		})
	}
}
