package api_test

import (
	"slices"
	"strings"
	"testing"
)

func (s *server) testEcommerceApp(t *testing.T) {
	s.check(t, ecommerceApps(), slices.Concat(
		appCases(), databaseCases(), backupCases(), resourceCases(),
		workloadCases("frontend"), workloadCases("backend"),
		envCases("frontend"), envCases("backend"), envFromCases(),
		ingressCases(), securityCases(), deletionCases(), loginCases(), monitoringCases(), networkCases(),
		overrideCases(), rolloutCases(), propagateCases(), patchCases(), registryCases(),
		podCases("frontend"), podCases("backend"), podCases("database"), probeCases("frontend"), probeCases("backend"),
	))
}

func appCases() []testCase {
	return []testCase{
		{name: "image of the frontend alone", edits: edits{"spec.image": absent()}},
		{name: "image of the shop alone", edits: edits{"spec.frontend.image": absent()}},
		{name: "smallest", edits: edits{"spec": map[string]any{"image": "shop:v1"}}},
		{
			name: "no image", edits: edits{"spec.image": absent(), "spec.frontend.image": absent()},
			field: "spec.image", says: "frontend.image or image must be set",
		},
		{
			name: "no image and no frontend", edits: edits{"spec.image": absent(), "spec.frontend": absent()},
			field: "spec.image", says: "frontend.image or image must be set",
		},
		{name: "no spec", edits: edits{"spec": absent()}, field: "spec", says: "Required value"},
		{name: "replicas as text", edits: edits{"spec.replicas": "3"}, field: "spec.replicas", says: "must be of type integer"},
		{name: "without optional parts", edits: edits{
			"spec.database": absent(), "spec.backend": absent(), "spec.monitoring": absent(), "spec.security": absent(),
		}},
	}
}

func databaseCases() []testCase {
	const numberFirst = "version must begin with a number"
	const wholeNumber = "storage must be a whole number of Ki, Mi, Gi or Ti, for example 100Gi"
	cases := []testCase{
		{
			name: "unknown engine", edits: edits{"spec.database.engine": "foo"},
			field: "spec.database.engine", says: `Unsupported value: "foo": supported values: "postgresql", "mysql"`,
		},
		{name: "no engine", edits: edits{"spec.database.engine": absent()}, field: "spec.database.engine", says: "Required value"},
		{name: "no version", edits: edits{"spec.database.version": absent()}, field: "spec.database.version", says: "Required value"},
		{name: "no storage", edits: edits{"spec.database.storage": absent()}, field: "spec.database.storage", says: "Required value"},
		{
			name: "version without quotes", edits: edits{"spec.database.version": 13.4},
			field: "spec.database.version", says: `must be of type string: "number"`,
		},
		{
			name: "credentials without a name", edits: edits{"spec.database.credentialsSecretRef": map[string]any{}},
			field: "spec.database.credentialsSecretRef.name", says: "Required value",
		},
		{
			name: "backup that is a word", edits: edits{"spec.database.backup": "daily"},
			field: "spec.database.backup", says: "must be of type object",
		},
	}
	for _, version := range []string{"13", "13.4", "8.0.36", "16", "8.0.36-debian", "17.2-bookworm"} {
		cases = append(cases, testCase{name: "version " + version, edits: edits{"spec.database.version": version}})
	}
	for _, version := range []string{"latest", "v13", "13.", "13:4", "13 4"} {
		cases = append(cases, testCase{
			name: "version " + version, edits: edits{"spec.database.version": version},
			field: "spec.database.version", says: numberFirst,
		})
	}
	for _, size := range []string{"100Gi", "1Ti", "512Mi", "1048576Ki"} {
		cases = append(cases, testCase{name: "storage " + size, edits: edits{"spec.database.storage": size}})
	}
	for _, size := range []string{"100GB", "100G", "abc", "0Gi", "-1Gi", "1.5Ti", "100", "100 Gi", "100gi", ""} {
		cases = append(cases, testCase{
			name: "storage " + size, edits: edits{"spec.database.storage": size},
			field: "spec.database.storage", says: wholeNumber,
		})
	}
	return slices.Concat(cases, referenceCases("spec.database.storageClassName", nil), imageCases("spec.database.image"),
		referenceCases("spec.database.credentialsSecretRef.name", nil))
}

// imageCases test an image that may have any tag.
func imageCases(field string) []testCase {
	const says = "image must be a reference such as registry.example.com/shop:v1"
	var cases []testCase
	for _, image := range []string{
		"shop", "shop:v2.0.0", "registry.example.com:5000/team/shop:v1", "shop@sha256:" + strings.Repeat("a", 64),
	} {
		cases = append(cases, testCase{name: field + " " + image, edits: edits{field: image}})
	}
	for _, image := range []string{" shop:v1", "shop :v1", "-shop", "shop;v1", "shop\n"} {
		cases = append(cases, testCase{name: field + " " + image, edits: edits{field: image}, field: field, says: says})
	}
	return cases
}

// referenceCases test the name in a reference to another object.
func referenceCases(field string, with edits) []testCase {
	var cases []testCase
	for _, name := range []string{"a", "shop-tls", "shop.example.com", "0"} {
		cases = append(cases, testCase{name: field + " " + name, edits: join(with, edits{field: name})})
	}
	for _, name := range []string{"Shop", "shop_tls", "-shop", "shop-", "shop..tls"} {
		cases = append(cases, testCase{
			name: field + " " + name, edits: join(with, edits{field: name}), field: field, says: "should match '^[a-z0-9]",
		})
	}
	return cases
}

func ingressCases() []testCase {
	const dnsName = "host must be a DNS name in lower case, for example shop.example.com, without scheme, port or path"
	const annotations, dns = "spec.ingress.annotations", "spec.ingress.externalDNS"
	cases := []testCase{
		{name: "annotations", edits: edits{annotations: map[string]any{"nginx.ingress.kubernetes.io/proxy-body-size": "8m"}}},
		{name: "largest annotation", edits: edits{annotations: map[string]any{strings.Repeat("k", 317): strings.Repeat("v", 4096)}}},
		{
			name: "annotation with a long key", edits: edits{annotations: map[string]any{strings.Repeat("k", 318): "v"}},
			field: annotations, says: "keys of at most 317 and values of at most 4096 characters",
		},
		{
			name: "annotation with a long value", edits: edits{annotations: map[string]any{"k": strings.Repeat("v", 4097)}},
			field: annotations, says: "keys of at most 317 and values of at most 4096 characters",
		},
		{
			name: "annotation of ours", edits: edits{annotations: map[string]any{"ecommerce.io/adopt": "Always"}},
			field: annotations, says: "annotations must not begin with ecommerce.io",
		},
	}
	for _, host := range []string{"shop.example.com", "localhost", "a-b.c"} {
		cases = append(cases, testCase{name: "host " + host, edits: edits{"spec.ingress.host": host}})
	}
	for _, host := range []string{"https://shop.example.com", "shop.example.com/x", "shop.example.com:443", "Shop.example.com", "shop..com", ".com", ""} {
		cases = append(cases, testCase{
			name: "host " + host, edits: edits{"spec.ingress.host": host}, field: "spec.ingress.host", says: dnsName,
		})
	}
	cases = append(cases,
		testCase{name: "Gateway of its own namespace", edits: gateway()},
		testCase{name: "Gateway with TLS", edits: join(gateway(), edits{"spec.ingress.gatewayRef.protocol": "HTTPS"})},
		testCase{name: "Gateway without TLS", edits: join(gateway(), edits{"spec.ingress.gatewayRef.protocol": "HTTP"})},
		testCase{
			name: "Gateway with another protocol", edits: join(gateway(), edits{"spec.ingress.gatewayRef.protocol": "TLS"}),
			field: "spec.ingress.gatewayRef.protocol", says: `Unsupported value: "TLS": supported values: "HTTP", "HTTPS"`,
		},
		testCase{name: "Gateway and class", edits: join(gateway(), edits{"spec.ingress.className": "nginx"})},
		testCase{name: "names of clusters", edits: edits{"spec.ingress.host": "shop.example.com", dns: map[string]any{}}},
		testCase{name: "names of clusters without a host", edits: edits{dns: map[string]any{}}, field: "spec.ingress.host", says: "host must be set when externalDNS is"},
		testCase{name: "names of clusters of the longest host", edits: edits{"spec.ingress.host": letters(189), dns: map[string]any{}}},
		testCase{
			name: "names of clusters of a longer host", edits: edits{"spec.ingress.host": letters(190), dns: map[string]any{}},
			field: "spec.ingress.host", says: "host must have at most 189 characters when externalDNS is set",
		},
		testCase{
			name: "Gateway without a name", edits: edits{"spec.ingress.gatewayRef": map[string]any{"namespace": "gateways"}},
			field: "spec.ingress.gatewayRef.name", says: "Required value",
		},
		testCase{
			name: "Gateway in a namespace with dots", edits: join(gateway(), edits{"spec.ingress.gatewayRef.namespace": "a.b"}),
			field: "spec.ingress.gatewayRef.namespace", says: "should match '^[a-z0-9]",
		},
	)
	return slices.Concat(cases, referenceCases("spec.ingress.className", nil),
		referenceCases("spec.ingress.gatewayRef.name", nil), referenceCases("spec.ingress.gatewayRef.sectionName", gateway()))
}

// gateway refers to a Gateway.
func gateway() edits { return edits{"spec.ingress.gatewayRef.name": "public"} }

func securityCases() []testCase {
	host := edits{"spec.ingress.host": "shop.example.com"}
	issuer := edits{"spec.security.tls.issuerRef": map[string]any{"name": "letsencrypt"}}
	return slices.Concat([]testCase{
		{name: "issuer with a host", edits: join(host, issuer)},
		{
			name: "issuer without a host", edits: issuer,
			field: "spec.ingress", says: "ingress.host must be set when security.tls.issuerRef is",
		},
		{name: "secret without a host", edits: edits{"spec.security.tls.secretRef": named("shop-tls")}},
		{
			name: "issuer and secret", edits: join(host, issuer, edits{"spec.security.tls.secretRef": named("shop-tls")}),
			field: "spec.security.tls.secretRef", says: "only one of issuerRef and secretRef may be set",
		},
		{
			name: "issuer without a name", edits: join(host, edits{"spec.security.tls.issuerRef": map[string]any{"kind": "Issuer"}}),
			field: "spec.security.tls.issuerRef.name", says: "Required value",
		},
		{
			name: "certificate without the name of its secret", edits: edits{"spec.security.tls.secretRef": map[string]any{}},
			field: "spec.security.tls.secretRef.name", says: "Required value",
		},
		{
			name: "login without the name of its secret", edits: edits{"spec.security.authentication.secretRef": map[string]any{}},
			field: "spec.security.authentication.secretRef.name", says: "Required value",
		},
		{name: "users of the namespace", edits: edits{"spec.security.podUserIDs": "Namespace"}},
		{name: "fixed users", edits: edits{"spec.security.podUserIDs": "Fixed"}},
		{
			name: "users of the cluster", edits: edits{"spec.security.podUserIDs": "Cluster"},
			field: "spec.security.podUserIDs", says: `Unsupported value: "Cluster": supported values: "Fixed", "Namespace"`,
		},
		{
			name: "unknown login", edits: edits{"spec.security.authentication.provider": "x"},
			field: "spec.security.authentication.provider", says: `Unsupported value: "x": supported values: "oauth2"`,
		},
		{
			name: "tls as text", edits: edits{"spec.security.tls.enabled": "yes"},
			field: "spec.security.tls.enabled", says: "must be of type boolean",
		},
	},
		referenceCases("spec.security.tls.secretRef.name", nil),
		referenceCases("spec.security.tls.issuerRef.name", host),
		referenceCases("spec.security.authentication.secretRef.name", nil),
	)
}

func deletionCases() []testCase {
	const timeout = "spec.deletion.unreachableTimeout"
	cases := deletedVolumes()
	for _, value := range []string{"0s", "1s", "24h", "1h30m", "87600h"} {
		cases = append(cases, testCase{name: "timeout " + value, edits: edits{timeout: value}})
	}
	for _, value := range []string{"", "87600h1s", "1d", "1.5h", "-1h", "24", "99999999999999999999h"} {
		cases = append(cases, testCase{
			name: "timeout " + value, edits: edits{timeout: value}, field: timeout,
			says: "unreachableTimeout must be a duration of at most 87600h, for example 24h",
		})
	}
	return cases
}

// deletedVolumes returns the cases of spec.deletion.volumes, of an EcommerceApp and of a MySQLCluster.
func deletedVolumes() []testCase {
	const volumes = "spec.deletion.volumes"
	return []testCase{
		{name: "volumes are kept", edits: edits{volumes: "Retain"}},
		{name: "volumes are deleted", edits: edits{volumes: "Delete"}},
		{name: "volumes are recycled", edits: edits{volumes: "Recycle"}, field: volumes, says: `supported values: "Delete", "Retain"`},
		{name: "volumes is empty", edits: edits{volumes: ""}, field: volumes, says: `supported values: "Delete", "Retain"`},
	}
}
